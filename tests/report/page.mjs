// SPDX-License-Identifier: MIT
// The report in a real browser: every plot has its series, nothing is fetched, nothing is
// logged, values show on hover, and it fits a desk and a phone.
//
//     node tests/report/page.mjs PAGE.html PICTURES RUN.json... [--svg ID OUT.svg]

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../report/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const SKIPPED = 77;
const OVERVIEW_PLOTS = 8;
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const SCREENS = [
	["desktop", { width: 1280, height: 900 }, "light"],
	["phone", { width: 390, height: 844 }, "dark"],
];

const words = process.argv.slice(2);
const svgAt = words.indexOf("--svg");
const [svgId, svgOut] = svgAt < 0 ? [] : words.splice(svgAt, 3).slice(1);
const [page_file, pictures, ...files] = words;
const papers = files.flatMap((file) => JSON.parse(readFileSync(file, "utf8")).papers);

const executablePath = BROWSERS.find(existsSync);
if (!executablePath) {
	console.log("skipped: there is no Chromium here");
	process.exit(SKIPPED);
}

// Rows of an experiment that a plot must show: [series, has here, has paper].
function expected() {
	const plots = new Map();
	for (const paper of papers) {
		for (const { id, x, rows } of paper.experiments) {
			if (!rows.some((row) => row.here !== null)) continue;
			const shown = rows.filter((row) => row.here !== null || row.paper !== null);
			plots.set(`${paper.name}-${id}`, {
				curve: x !== null,
				series: [...new Set(shown.map((row) => row.series))],
				lines: new Set(rows.filter((row) => row.here !== null).map((row) => row.series)).size,
				here: rows.filter((row) => row.here !== null).length,
				paper: rows.filter((row) => row.paper !== null).length,
			});
		}
	}
	return plots;
}

async function openPage(browser, screen, colorScheme) {
	const page = await browser.newPage({ viewport: screen, colorScheme });
	const trouble = [];
	page.on("console", (message) => {
		if (["error", "warning"].includes(message.type())) trouble.push(message.text());
	});
	page.on("pageerror", (error) => trouble.push(String(error)));
	page.on("request", (request) => {
		if (!/^(file|data):/.test(request.url())) trouble.push(`fetched ${request.url()}`);
	});
	await page.goto(pathToFileURL(resolve(page_file)).href);
	return { page, trouble };
}

// What the browser drew: marks by their labels.
function drawnPlots(page) {
	return page.$$eval("figure[data-plot][id]", (figures) =>
		figures.map((figure) => ({
			id: figure.dataset.plot,
			legend: [...figure.querySelectorAll(".legend [data-series]")].map((one) => one.dataset.series),
			lines: figure.querySelectorAll(".here-line path").length,
			here: figure.querySelectorAll(".here > *").length,
			paper: figure.querySelectorAll(".paper > *").length,
			rows: figure.querySelectorAll("tbody tr").length,
			broken: figure.querySelector("svg")?.outerHTML.includes("NaN") ?? true,
		})),
	);
}

async function every_plot_has_its_series(page) {
	const plots = expected(), drawn = await drawnPlots(page);
	assert.deepEqual(drawn.map(({ id }) => id).sort(), [...plots.keys()].sort());
	for (const one of drawn) {
		const plot = plots.get(one.id);
		assert.equal(one.broken, false, `${one.id}: no plot, or NaN in it`);
		assert.equal(one.here, plot.here, `${one.id}: marks of ours`);
		assert.equal(one.paper, plot.paper, `${one.id}: marks of the paper`);
		if (!plot.curve) continue;
		assert.deepEqual(one.legend.sort(), plot.series.sort(), `${one.id}: legend`);
		assert.equal(one.lines, plot.lines, `${one.id}: lines`);
	}
	const first = await page.$$eval("figure[data-plot]:not([id]) .plot", (plots) => plots.filter((plot) => plot.querySelector("svg")).length);
	assert.equal(first, OVERVIEW_PLOTS, "plots of the overview");
	const most = await page.$$eval(".plot svg", (plots) => Math.max(...plots.map((plot) => plot.querySelectorAll(".here-line path").length)));
	assert.ok(most <= 4, `${most} curves in one plot`);
	const said = await page.$$eval(".summary li", (items) => items.map((item) => item.textContent));
	assert.ok(said.length >= 3 && said.every((text) => !/NaN|undefined|–/.test(text)), `the summary: ${said}`);
	const lost = await page.$$eval(".summary a", (links) => links.map((link) => link.getAttribute("href")).filter((id) => !document.querySelector(id)));
	assert.deepEqual(lost, [], "links of the summary");
}

async function values_show_on_hover(page) {
	const plot = page.locator("figure[data-plot][id] .plot svg").first();
	await plot.scrollIntoViewIfNeeded();
	const box = await plot.boundingBox();
	await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
	await page.waitForSelector('figure[data-plot][id] [aria-label="tip"] text');
	const text = await page.textContent('figure[data-plot][id] [aria-label="tip"]');
	assert.match(text, /here: [\d.]/);
}

async function nothing_is_wider_than_the_screen(page) {
	const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
	assert.ok(widths[0] <= widths[1], `the page is ${widths[0]} wide, the screen ${widths[1]}`);
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
	for (const [name, screen, scheme] of SCREENS) {
		const { page, trouble } = await openPage(browser, screen, scheme);
		await nothing_is_wider_than_the_screen(page);
		await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
		await every_plot_has_its_series(page);
		if (name === "desktop") await values_show_on_hover(page);
		if (name === "desktop" && svgId)
			writeFileSync(svgOut, `${await page.evaluate((id) => window.reportSvg(id), svgId)}\n`);
		assert.deepEqual(trouble, []);
		await page.close();
	}
	console.log(`${expected().size} plots are whole; pictures are in ${pictures}`);
} finally {
	await browser.close();
}
