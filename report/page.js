// SPDX-License-Identifier: MIT
// The page: facts of the run, the plots that matter most, then every experiment by paper.

import { colorOf, draw, isCurve, number, seriesOf } from "./plots.js";

const run = JSON.parse(document.getElementById("run").textContent);

// What a newcomer wants to know, and where it was measured.
const OVERVIEW = [
	["breadcrumb", "figure-6-absent", "How fast lookups are, by how well space is used"],
	["cuckoo", "figure-2", "What a rate costs in space"],
	["cpcf", "figure-4a", "Inserts while a table fills up"],
	["cuckoo", "figure-3", "One key at a time, and batches"],
	["breadcrumb", "table-3", "Threads that share a filter"],
	["cpcf", "latency", "How long a single insert takes"],
	["breadcrumb", "table-2-load", "Keys that come and go"],
	["cpcf", "table-1-kicks", "Entries moved to make room"],
];

function element(tag, attributes, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
	made.append(...children.filter((child) => child !== null));
	return made;
}

function sentence(text) {
	return text ? text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".") : "";
}

// -------------------------------------------------------------------------- one card

function legend(experiment) {
	const list = element("ul", { class: "legend" });
	if (isCurve(experiment)) {
		for (const name of seriesOf(experiment)) {
			const swatch = element("i", { style: `background:${colorOf(experiment, name)}` });
			list.append(element("li", { "data-series": name }, swatch, name));
		}
	}
	if (experiment.rows.some((row) => row.paper !== null)) {
		const kind = isCurve(experiment) ? "said" : "said tick";
		list.append(element("li", { class: kind }, element("i"), "the paper"));
	}
	return list;
}

function columnsOf(experiment) {
	const columns = [["", (row) => row.series]];
	if (experiment.x !== null) columns.push([experiment.x, (row) => number(row.x)]);
	columns.push(["paper", (row) => number(row.paper)], ["here", (row) => number(row.here)]);
	if (experiment.compare === "value") {
		columns.push(["here / paper", (row) => number(row.here_ratio)]);
	} else if (experiment.reference !== null) {
		columns.push([`paper, of ${experiment.reference}`, (row) => number(row.paper_ratio)]);
		columns.push([`here, of ${experiment.reference}`, (row) => number(row.here_ratio)]);
	}
	return columns;
}

function table(experiment) {
	const columns = columnsOf(experiment);
	const head = element("tr", {}, ...columns.map(([name]) => element("th", {}, name)));
	const body = experiment.rows.map((row) =>
		element("tr", {}, ...columns.map(([, text]) => element("td", {}, text(row)))),
	);
	return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

const drawn = []; // what to draw again when a card has another width

function card(paper, experiment, title) {
	const plot = element("div", { class: "plot" });
	const id = `${paper.name}-${experiment.id}`;
	const figure = element(
		"figure",
		{ class: "card", "data-plot": id, ...(title ? {} : { id }) },
		element("div", { class: "place" }, title ? `${paper.name}, ${experiment.place}: ${experiment.title}` : experiment.place),
		element("h3", {}, title ?? experiment.title[0].toUpperCase() + experiment.title.slice(1)),
		legend(experiment),
		plot,
		element("figcaption", {}, sentence(experiment.note)),
		element(
			"details",
			{},
			element("summary", {}, `${experiment.rows.length} rows`),
			element("div", { class: "scroll" }, table(experiment)),
		),
	);
	drawn.push({ plot, experiment, width: 0 });
	return figure;
}

function hasValues(experiment) {
	return experiment.rows.some((row) => row.here !== null);
}

function redraw() {
	for (const one of drawn) {
		const width = Math.floor(one.plot.clientWidth);
		if (width > 0 && width !== one.width) {
			one.width = width;
			one.plot.replaceChildren(draw(one.experiment, width));
		}
	}
}

// ------------------------------------------------------------------------ the sections

function heading(id, text) {
	return element("h2", { id }, text);
}

function overview() {
	const cards = OVERVIEW.flatMap(([name, id, title]) => {
		const paper = run.papers.find((one) => one.name === name);
		const experiment = paper?.experiments.find((one) => one.id === id);
		return experiment ? [card(paper, experiment, title)] : [];
	});
	return [heading("overview", "The short version"), element("div", { class: "cards" }, ...cards)];
}

// Figures that are the same on every machine, and how near to the papers' they are.
function comparison() {
	const rows = run.papers.flatMap((paper) =>
		paper.experiments
			.filter((experiment) => experiment.compare === "value")
			.map((experiment) => {
				const both = experiment.rows.filter((row) => row.paper && row.here !== null);
				const off = both.map((row) => row.here / row.paper);
				return { paper, experiment, off };
			})
			.filter(({ off }) => off.length > 0),
	);
	const percent = (ratio) =>
		ratio >= 3 ? `${number(Number(ratio.toPrecision(2)))} times` : `${ratio >= 1 ? "+" : "−"}${(Math.abs(ratio - 1) * 100).toFixed(1)} %`;
	const head = ["", "place", "rows", "least", "most"].map((text) => element("th", {}, text));
	const body = rows.map(({ paper, experiment, off }) =>
		element(
			"tr",
			{},
			element("td", {}, element("a", { href: `#${paper.name}-${experiment.id}` }, experiment.title)),
			element("td", {}, `${paper.name}, ${experiment.place}`),
			element("td", {}, String(off.length)),
			element("td", {}, percent(Math.min(...off))),
			element("td", {}, percent(Math.max(...off))),
		),
	);
	return [
		heading("comparison", "Figures that depend on no machine"),
		element("p", { class: "soft" }, "Loads, rates, bits and counts: by how much ours differ from the paper's, the least and the most of all rows. Speeds are compared in the sections below, as ratios of two rows of the same machine."),
		element("div", { class: "scroll wide" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body))),
	];
}

function section(paper) {
	const cards = paper.experiments.filter(hasValues).map((experiment) => card(paper, experiment, null));
	const empty = paper.experiments.filter((experiment) => !hasValues(experiment));
	return [
		heading(paper.name, paper.title),
		element("p", { class: "soft" }, `Measured by the authors on: ${paper.machine}.`),
		...empty.map((experiment) =>
			element("p", { class: "soft" }, `Not measured here: ${experiment.place}, ${experiment.title} (${experiment.note}).`),
		),
		element("div", { class: "cards" }, ...cards),
	];
}

function facts() {
	const list = element("dl", { class: "facts" });
	for (const [name, value] of Object.entries(run.facts)) {
		list.append(element("dt", {}, name), element("dd", {}, value));
	}
	return list;
}

function navigation() {
	const places = [
		["overview", "The short version"],
		["comparison", "Beside the papers"],
		...run.papers.map((paper) => [paper.name, paper.name]),
		["reproduce", "Do it yourself"],
	];
	return element(
		"nav",
		{},
		element("ul", {}, ...places.map(([id, text]) => element("li", {}, element("a", { href: `#${id}` }, text)))),
	);
}

function reproduce() {
	return [
		heading("reproduce", "Do it yourself"),
		element("pre", {}, run.commands.join("\n")),
		element("p", { class: "soft" }, "Single-threaded speeds are keys per second of processor time, hashing included, medians of the rounds; those of several threads and of WiredTiger are by the clock. Hollow marks and dashes are the paper's, from its machine."),
	];
}

document.querySelector("header").append(
	element("p", { class: "lead" }, run.lead),
	...run.warnings.map((text) => element("p", { class: "warn" }, text)),
	facts(),
	navigation(),
);
document
	.querySelector("main")
	.append(...overview(), ...comparison(), ...run.papers.flatMap(section), ...reproduce());
redraw();
new ResizeObserver(() => requestAnimationFrame(redraw)).observe(document.querySelector("main"));

// A plot as an image for other pages: with its legend, and colours of its own.
window.reportSvg = (id) => {
	const one = drawn.find(({ plot }) => plot.closest("figure").dataset.plot === id);
	const width = 760, names = isCurve(one.experiment) ? seriesOf(one.experiment) : [];
	const svg = draw(one.experiment, width), height = Number(svg.getAttribute("height"));
	const rows = Math.ceil(names.length / 3), all = height + 26 + 20 * rows;
	svg.setAttribute("viewBox", `0 -26 ${width} ${all}`);
	svg.setAttribute("height", all);
	svg.setAttribute("style", "background:#fff;color:#1c2430;font-family:sans-serif;font-size:12px");
	svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	const label = (text, x, y, more) => `<text text-anchor="start" x="${x}" y="${y}" fill="currentColor" ${more}>${text}</text>`;
	let extra = label(one.experiment.title, 12, -8, 'font-weight="600"');
	names.forEach((name, i) => {
		const x = 52 + (i % 3) * 235, y = height + 12 + 20 * Math.floor(i / 3);
		extra += `<rect x="${x}" y="${y - 7}" width="14" height="4" rx="2" fill="${colorOf(one.experiment, name)}"/>`;
		extra += label(name, x + 20, y, "");
	});
	svg.insertAdjacentHTML("beforeend", extra);
	return svg.outerHTML;
};
