// Opens a page in headless Chromium at the widths of a phone, a tablet, a desk and a wall, in light and dark, with
// scripts and without, and on paper; says what overlaps, is cut off, is asked for from elsewhere, or keeps people out
// (axe-core). Pictures go to a folder where one is named.
//
//   node check_page.cjs page.html [folder for pictures]
"use strict";
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const modules = process.env.DESIREPATH_BROWSER_MODULES;
const { chromium } = require(path.join(modules, "playwright-core"));
const axe = fs.readFileSync(path.join(modules, "axe-core", "axe.min.js"), "utf8");

const [file, pictures] = process.argv.slice(2);
const address = pathToFileURL(path.resolve(file)).href;
const patience = 180000;  // milliseconds, where the machine has other work
const widths = [320, 768, 1280, 2560];
const faults = [];

/// Runs in the page: what does not fit.
function misfits() {
  const found = [], near = 1.5;
  const say = (what, element) => found.push(`${what}: ${(element.textContent || element.className).trim().slice(0, 60)}`);
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(`the page scrolls sideways (${page.scrollWidth} in ${page.clientWidth})`);
  for (const element of document.querySelectorAll("body *:not(svg *)")) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || element.closest(".skip")) continue;
    const scrolls = element.parentElement.closest(".scroll");
    if (!scrolls && (box.right > page.clientWidth + near || box.left < -near)) say("wider than the page", element);
    const style = getComputedStyle(element);
    if (style.overflowX === "hidden" && element.scrollWidth > element.clientWidth + near) say("cut off", element);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    const scale = frame.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll("text")].map(text => ({ text, box: text.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0);
    const where = svg.querySelector("title").textContent;
    for (const { text, box } of texts) {
      const out = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
      if (out > 2 * scale) say(`leaves its picture '${where}' by ${(out / scale).toFixed(1)}`, text);
    }
    // Boxes of letters have air above and below.
    const inner = ({ box }) => ({ left: box.left + scale, right: box.right - scale, top: box.top + 0.25 * box.height, bottom: box.bottom - 0.25 * box.height });
    const boxes = texts.filter(({ text }) => !/rotate/.test(text.getAttribute("transform") || "")).map(entry => ({ ...entry, inside: inner(entry) }))
      .sort((a, b) => a.inside.top - b.inside.top);
    for (let i = 0; i < boxes.length; ++i) {
      for (let j = i + 1; j < boxes.length && boxes[j].inside.top < boxes[i].inside.bottom; ++j) {
        const a = boxes[i].inside, b = boxes[j].inside;
        if (a.left < b.right && b.left < a.right) say(`overlaps '${boxes[j].text.textContent}' in '${where}'`, boxes[i].text);
      }
    }
  }
  return found;
}

async function look(browser, width, scheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const here = `${width} px, ${scheme}`;
  page.on("request", request => { if (request.url() !== address) faults.push(`${here}: asks for ${request.url()}`); });
  page.on("pageerror", error => faults.push(`${here}: the script fails: ${error.message}`));
  page.on("console", message => { if (message.type() === "error") faults.push(`${here}: ${message.text()}`); });
  await page.goto(address);
  if (pictures) await page.screenshot({ path: path.join(pictures, `page-${width}-${scheme}.png`), fullPage: true });
  await page.evaluate(() => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
  for (const misfit of await page.evaluate(misfits)) faults.push(`${here}: ${misfit}`);
  if (width === 320 || width === 1280) {
    const session = await context.newCDPSession(page);  // the page's own policy forbids a script tag
    await session.send("Runtime.evaluate", { expression: axe });
    const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, help, nodes } of violations) faults.push(`${here}: axe ${id}: ${help} (${nodes.length}): ${nodes[0].html.slice(0, 140)}`);
  }
  await context.close();
}

/// What the script adds works, and everything is there without it.
async function interact(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(address);
  const sorted = await page.evaluate(() => {
    const table = [...document.querySelectorAll("table.sorts")].find(one => one.querySelector("td.n[data-v]"));
    if (!table) return true;
    table.closest("details")?.setAttribute("open", "");
    const column = table.querySelector("td.n[data-v]").cellIndex;
    table.tHead.rows[0].cells[column].querySelector("button").click();
    const values = [...table.tBodies[0].rows].map(row => Number(row.cells[column].dataset.v)).filter(value => !Number.isNaN(value));
    return values.every((value, i) => i === 0 || values[i - 1] >= value);
  });
  if (!sorted) faults.push("a click on a column does not sort by it");
  for (const [box, effect] of [[".chooser select", ".chosen dd"], [".paths select", "svg.following .followed"]]) {
    if (await page.locator(box).count() === 0) continue;
    await page.locator(box).first().selectOption({ index: 1 });
    if (await page.locator(effect).count() === 0) faults.push(`nothing happens where one is chosen: ${box}`);
  }
  await page.keyboard.press("Home");
  const rows = await page.locator("table tr").count(), pictures_with = await page.locator("svg").count();
  await context.close();
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const still = await plain.newPage();
  still.setDefaultTimeout(patience);
  await still.goto(address);
  if (await still.locator("table tr").count() !== rows) faults.push("tables are not all there with scripts off");
  if (await still.locator("svg").count() !== pictures_with) faults.push("pictures are not all there with scripts off");
  await plain.close();
}

async function print(browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(address);
  const paper = await page.pdf({ format: "A4", printBackground: false });
  if (paper.length < 10000) faults.push("nothing is printed");
  if (pictures) fs.writeFileSync(path.join(pictures, "page.pdf"), paper);
  await context.close();
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  for (const width of widths) {
    for (const scheme of ["light", "dark"]) await look(browser, width, scheme);
  }
  await interact(browser);
  await print(browser);
  await browser.close();
  const told = [...new Set(faults)];
  for (const fault of told.slice(0, 60)) console.log(`${path.basename(file)}: ${fault}`);
  process.exit(told.length === 0 ? 0 : 1);
})().catch(error => { console.log(`${path.basename(file)}: ${error.message}`); process.exit(1); });
