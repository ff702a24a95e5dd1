// What a reader does with a report. Runs at the end of the page and leaves its verdict in the document.
(async () => {
  const failures = [];
  const check = (holds, words) => holds || failures.push(words);
  let sorted = 0;

  for (const table of document.querySelectorAll("table.sortable")) {
    const titles = [...table.tHead.rows[0].cells];
    titles.forEach((title, column) => {
      const name = `${table.id || table.caption.textContent}, ${title.textContent}`;
      for (const order of ["ascending", "descending"]) {
        title.querySelector("button").click();
        check(title.getAttribute("aria-sort") === order, `${name}: not ${order}`);
        const keys = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.sort);
        const valued = keys.filter((key) => key !== undefined);
        check(keys.slice(0, valued.length).every((key) => key !== undefined), `${name}: empty cells are not last`);
        const turn = order === "ascending" ? 1 : -1;
        valued.slice(1).forEach((key, index) => {
          const difference = column === 0 ? valued[index].localeCompare(key) : Number(valued[index]) - Number(key);
          check(turn * difference <= 0, `${name}, ${order}: ${valued[index]} before ${key}`);
        });
        sorted += 1;
      }
      check(titles.filter((other) => other.hasAttribute("aria-sort")).length === 1, `${name}: two columns are marked`);
    });
  }
  check(sorted > 0, "no table can be sorted");

  const anchors = [...document.querySelectorAll('a[href^="#"]')];
  check(anchors.length > 5, "there are too few anchors");
  for (const anchor of anchors) {
    const name = anchor.getAttribute("href");
    const target = document.getElementById(name.slice(1));
    check(target !== null, `${name} leads nowhere`);
    if (target === null) continue;
    anchor.click();
    // Headless pages jump at the next frame; the place is what counts.
    target.scrollIntoView();
    check(location.hash === name, `${name} was not followed`);
    const { top, height } = target.getBoundingClientRect();
    check(top > -1 && top < innerHeight && height > 0, `${name} is not in sight`);
  }

  for (const select of document.querySelectorAll("select.reference")) {
    for (const option of select.options) {
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
      const shown = [...select.options].filter((other) => !document.getElementById(other.value).hidden);
      check(shown.length === 1 && shown[0] === option, `${option.textContent}: not the one comparison shown`);
    }
  }

  // A headless browser has no clipboard to speak of, so this one stands in: first it takes the text, then it refuses.
  let copied = null;
  const clipboards = [
    async (text) => { copied = text; },
    async () => { throw new Error("refused"); },
  ];
  for (const clipboard of clipboards) {
    Object.defineProperty(navigator, "clipboard", { value: { writeText: clipboard }, configurable: true });
    for (const button of document.querySelectorAll("[data-copy]")) {
      const source = document.getElementById(button.dataset.copy);
      const said = button.parentElement.querySelector(".copied");
      [said.textContent, copied] = ["", null];
      button.click();
      await new Promise((resolve) => setTimeout(resolve, 0));
      check(source.hidden, `${button.dataset.copy} stays open`);
      check(said.textContent !== "", `${button.dataset.copy} says nothing`);
      if (clipboard === clipboards[0]) {
        check(copied === source.value && copied.length > 50, `${button.dataset.copy} was not copied`);
      }
    }
  }

  const figures = [...document.querySelectorAll("figure svg, figure img")];
  for (const figure of figures) {
    const { width, height } = figure.getBoundingClientRect();
    check(width > 100 && height > 50, `a figure is ${width} × ${height}`);
    if (figure instanceof HTMLImageElement) check(figure.complete && figure.naturalWidth > 0, `${figure.alt} is no picture`);
  }
  check(document.documentElement.scrollWidth <= innerWidth, "the page is wider than its window");
  await document.fonts.load("16px Roboto");
  check(document.fonts.check("16px Roboto"), "the font that comes along is not there");

  window.complaints.forEach((complaint) => check(false, `console: ${complaint}`));
  const verdict = document.createElement("pre");
  verdict.id = "verdict";
  verdict.textContent = failures.length
    ? `failed: ${failures.slice(0, 20).join("; ")}`
    : `passed: ${sorted} orders, ${anchors.length} anchors, ${figures.length} figures`;
  document.body.append(verdict);
})();
