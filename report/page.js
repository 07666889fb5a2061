// SPDX-License-Identifier: MIT
// The page: facts of the run, the plots that matter most, then every experiment by paper.

import { colorOf, draw, drawWhole, isCurve, number, seriesOf } from "./plots.js";

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
	if (experiment.rows.some((row) => row.paper !== null)) {
		const kind = isCurve(experiment) ? "said" : "said tick";
		list.append(element("li", { class: kind }, element("i"), "the paper"));
	}
	return list;
}

// Above each of the plots: which series it has, without the words that all of them share.
function panelLegend(title, names) {
	const short = (name) => (title ? name.replace(`, ${title}`, "").replace(`${title}, `, "") : name);
	const items = names.map((name) =>
		element("li", { "data-series": name }, element("i", { style: `background:${colorOf(names, name)}` }), short(name)),
	);
	return element("div", { class: "panel" }, ...(title ? [element("b", {}, title)] : []), element("ul", { class: "legend" }, ...items));
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
			one.plot.replaceChildren(...draw(one.experiment, width, panelLegend));
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
	return [heading("overview", "The short version"), ...summary(), element("div", { class: "cards" }, ...cards)];
}

// What a reader who knows none of the papers wants to know: sentences, made of rows, with a link to their plot.

function rowOf(name, id, series, x) {
	const experiment = run.papers.find((one) => one.name === name)?.experiments.find((one) => one.id === id);
	return experiment?.rows.find((row) => row.series === series && (x === undefined || row.x === x) && row.here !== null);
}

function agreement() {
	const off = run.papers.flatMap((paper) => paper.experiments)
		.filter((experiment) => experiment.compare === "value")
		.flatMap((experiment) => experiment.rows)
		.filter((row) => row.paper && row.here !== null)
		.map((row) => Math.abs(row.here / row.paper - 1));
	if (off.length === 0) return null;
	const within = off.filter((one) => one <= 0.05).length;
	return ["comparison", `Of ${off.length} loads, rates and sizes that the papers print, ${within} are within 5 % of theirs here (${Math.round((100 * within) / off.length)} %). Where we differ has reasons, which stand beside the plots.`];
}

function summary() {
	const rate = 1 / 256, sentences = [agreement()];
	const [windowed, bloom, cuckoo] = ["windowed", "bloom", "cuckoo"].map((series) => rowOf("cuckoo", "figure-2", series, 0.00390625));
	if (windowed && bloom && cuckoo)
		sentences.push(["cuckoo-figure-2", `A filter that is wrong about one absent key in ${1 / rate} takes ${number(windowed.here)} bits per key (windowed); a Bloom filter takes ${number(bloom.here)}, the original cuckoo filter ${number(cuckoo.here)}.`]);
	const [crumbs, kicked] = ["breadcrumb, 8 bits", "cuckoo, 12 bits"].map((series) => rowOf("breadcrumb", "figure-1-insert", series));
	if (crumbs && kicked)
		sentences.push(["breadcrumb-figure-1-insert", `To fill a filter to its capacity, in batches on one thread: ${number(crumbs.here)} million keys per second with breadcrumb, ${number(kicked.here)} with cuckoo.`]);
	const [single, batch] = ["single", "batch"].map((call) => rowOf("cuckoo", "figure-3", `cuckoo, ${call}`, 0));
	if (single && batch)
		sentences.push(["cuckoo-figure-3", `Lookups of absent keys in a cuckoo filter: ${number(single.here)} million per second one by one, ${number(batch.here)} in batches.`]);
	const [none, filtered] = ["no filter", "breadcrumb, 16 bits"].map((series) => rowOf("breadcrumb", "table-5-disk", series, 0));
	if (none && filtered)
		sentences.push(["breadcrumb-table-5-disk", `In front of a storage engine on disk, keys that it does not have are answered ${number(Number((filtered.here / none.here).toPrecision(2)))} times as fast as without a filter.`]);
	const list = sentences.filter((one) => one !== null).map(([id, text]) =>
		element("li", {}, text, " ", element("a", { href: `#${id}` }, "Plot")),
	);
	return [
		element("p", { class: "soft" }, "A fingerprint filter answers whether a key was put in, with a few bits per key: a no is always right, a yes is wrong as often as was asked for. nidus has nine families of them; the papers below describe the ideas and measured them on other machines."),
		element("ul", { class: "summary" }, ...list),
	];
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
	const svg = drawWhole(one.experiment, width), height = Number(svg.getAttribute("height"));
	const rows = Math.ceil(names.length / 3), all = height + 26 + 20 * rows;
	svg.setAttribute("viewBox", `0 -26 ${width} ${all}`);
	svg.setAttribute("height", all);
	svg.setAttribute("style", "background:#fff;color:#1c2430;font-family:sans-serif;font-size:12px");
	svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	const label = (text, x, y, more) => `<text text-anchor="start" x="${x}" y="${y}" fill="currentColor" ${more}>${text}</text>`;
	let extra = label(one.experiment.title, 12, -8, 'font-weight="600"');
	names.forEach((name, i) => {
		const x = 52 + (i % 3) * 235, y = height + 12 + 20 * Math.floor(i / 3);
		extra += `<rect x="${x}" y="${y - 7}" width="14" height="4" rx="2" fill="${colorOf(names, name)}"/>`;
		extra += label(name, x + 20, y, "");
	});
	svg.insertAdjacentHTML("beforeend", extra);
	return svg.outerHTML;
};
