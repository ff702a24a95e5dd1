// What a reader sees of a report and does with it. Runs at the end of the page and sends its verdict to the page around it.
// `expected` holds the width of the window and the color scheme that the browser was started with.
(async () => {
  const failures = [];
  const check = (holds, words) => holds || failures.push(words);
  let sorted = 0;

  check(innerWidth === expected.width, `the window is ${innerWidth} wide`);
  check(matchMedia(`(prefers-color-scheme: ${expected.scheme})`).matches, `the scheme is not ${expected.scheme}`);
  const isWide = () => document.documentElement.scrollWidth > innerWidth;
  check(!isWide(), `the page scrolls sideways: ${document.documentElement.scrollWidth} in ${innerWidth}`);

  // Colors: what a text stands on is the nearest background that is painted.
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const isPainted = (color) => color !== "transparent" && channels(color)[3] !== 0;
  const backgroundOf = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      if (isPainted(backgroundColor)) return backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  check(expected.scheme === "dark" ? page < 0.05 : page > 0.9, `the background is not ${expected.scheme}`);
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("svg, script, style, option, textarea") || !element.checkVisibility()) continue;
    const ratio = contrast(getComputedStyle(element).color, backgroundOf(element));
    check(ratio >= 4.5, `"${node.data.trim().slice(0, 30)}" has a contrast of ${ratio.toFixed(2)}`);
    texts += 1;
  }
  check(texts > 100, `the page has ${texts} texts`);
  for (const svg of document.querySelectorAll("figure svg")) {
    const ground = getComputedStyle(svg.querySelector("rect")).fill;
    check(ground === getComputedStyle(document.body).backgroundColor, `a figure stands on ${ground}`);
    for (const text of svg.querySelectorAll("text")) {
      const ratio = contrast(getComputedStyle(text).fill, ground);
      check(ratio >= 4.5, `"${text.textContent}" in a figure has a contrast of ${ratio.toFixed(2)}`);
    }
  }

  // Structure, as screen readers tell it.
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((heading) => Number(heading.tagName[1]));
  check(levels[0] === 1 && levels.filter((level) => level === 1).length === 1, "there is not one h1 at the top");
  levels.slice(1).forEach((level, index) => check(level <= levels[index] + 1, `h${level} follows h${levels[index]}`));
  const nameOf = (element) => {
    const named = (element.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "");
    return element.alt ?? element.getAttribute("aria-label") ?? named.join(" ");
  };
  for (const picture of document.querySelectorAll("img, svg")) {
    check(nameOf(picture).trim().length > 15, `a picture is called "${nameOf(picture)}"`);
    if (picture.tagName === "svg") check(picture.getAttribute("role") === "img", "a figure has no role");
  }
  for (const table of document.querySelectorAll("table")) {
    check(table.caption?.textContent.trim().length > 10, `a table has no caption: ${table.id}`);
    check([...table.tHead.rows[0].cells].every((cell) => cell.scope === "col"), `${table.id}: a head without scope`);
    check(table.closest(".scroll") !== null, `${table.id} cannot scroll`);
  }
  for (const area of document.querySelectorAll(".scroll, pre")) {
    check(area.tabIndex === 0, "what scrolls cannot be focused");
    if (area.matches(".scroll")) check(nameOf(area).length > 3, "what scrolls has no name");
  }
  const skip = document.querySelector("a, button, [tabindex]");
  check(skip.matches(".skip"), "the first stop is no skip link");
  skip.focus();
  check(skip.getBoundingClientRect().left >= 0 && skip.matches(":focus-visible"), "the skip link is not seen");
  const outlined = document.querySelector("thead button");
  outlined.focus();
  const { outlineStyle, outlineWidth } = getComputedStyle(outlined);
  check(outlineStyle !== "none" && parseFloat(outlineWidth) >= 2, "focus is not seen");
  for (const link of document.querySelectorAll("a.file")) {
    const svg = await (await fetch(link.href)).text();
    check(svg.startsWith("<svg ") && svg.includes("prefers-color-scheme"), "a figure does not open alone");
  }

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
  check(!isWide(), "the page scrolls sideways in the end");
  await document.fonts.load("16px Roboto");
  check(document.fonts.check("16px Roboto"), "the font that comes along is not there");

  window.complaints.forEach((complaint) => check(false, `console: ${complaint}`));
  parent.postMessage(
    failures.length
      ? `failed: ${failures.slice(0, 20).join("; ")}`
      : `passed: ${texts} texts, ${sorted} orders, ${anchors.length} anchors, ${figures.length} figures`,
    "*",
  );
})();
