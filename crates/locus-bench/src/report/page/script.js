"use strict";
// Sorting: a click on a column's title sorts by it, a second one turns the order around.
for (const table of document.querySelectorAll("table.sortable")) {
  const titles = [...table.tHead.rows[0].cells];
  titles.forEach((title, column) => {
    title.querySelector("button").addEventListener("click", () => {
      const order = title.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      titles.forEach((other) => other.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", order);
      const turn = order === "ascending" ? 1 : -1;
      const key = (row) => row.cells[column].dataset.sort;
      const rows = [...table.tBodies[0].rows].sort((one, other) => {
        const [a, b] = [key(one), key(other)];
        // Rows without a value stay at the end in both orders.
        if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
        const difference = Number(a) - Number(b);
        return turn * (Number.isNaN(difference) ? a.localeCompare(b) : difference);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
// Copying: a page from a file may have no clipboard, so there is an older way too.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    const said = button.parentElement.querySelector(".copied");
    let done = false;
    try {
      await navigator.clipboard.writeText(source.value);
      done = true;
    } catch {
      source.hidden = false;
      source.select();
      done = document.execCommand("copy");
      source.hidden = true;
    }
    said.textContent = done ? "copied" : "the browser does not allow copying";
  });
}
// Comparing: one table is shown at a time.
for (const select of document.querySelectorAll("select.reference")) {
  const show = () => {
    for (const option of select.options) document.getElementById(option.value).hidden = !option.selected;
  };
  select.addEventListener("change", show);
  show();
}
// Opening a figure alone: from the page itself, so that it works where the page was sent without its folder.
for (const link of document.querySelectorAll("a.file")) {
  const figure = link.closest("figure").querySelector("svg");
  link.href = URL.createObjectURL(new Blob([figure.outerHTML], { type: "image/svg+xml" }));
  link.target = "_blank";
}
