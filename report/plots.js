// SPDX-License-Identifier: MIT
// What a plot of an experiment looks like: curves where rows differ in x, bars otherwise.
// Filled marks and lines are measured here, hollow ones are the paper's. More than four curves
// become several plots with the same axes.

import * as Plot from "@observablehq/plot";

// A family has the same colour in every plot, where it comes once.
const OF_FAMILY = {
	breadcrumb: "#1f77d0",
	cuckoo: "#e4572e",
	semisort: "#c2407f",
	"semi-sorted": "#c2407f",
	simplified: "#8c6b5a",
	chunked: "#2a9d5c",
	bucketed: "#d99000",
	buckets: "#d99000",
	windowed: "#a05cc7",
	windows: "#a05cc7",
	bloom: "#17a2b8",
	"blocked-bloom": "#808b98",
	blocked: "#808b98",
};
const OTHERS = ["#7a8b1f", "#4fae9b", "#d0607a", "#b8860b", "#5b6fd8", "#3b8ea5", "#9467bd", "#6b7785"];

export function number(value) {
	if (value === null || value === undefined) return "–";
	const size = Math.abs(value);
	if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(2);
	if (size >= 1e4) return Math.round(value).toLocaleString("en");
	return String(Number(value.toPrecision(4)));
}

export function seriesOf(experiment) {
	const names = [...new Set(experiment.rows.map((row) => row.series))];
	return names.filter((name) =>
		experiment.rows.some((row) => row.series === name && (row.here !== null || row.paper !== null)),
	);
}

function familyOf(name) {
	return name.toLowerCase().split(/[ ,]/)[0];
}

function colorsOf(names) {
	const colors = new Map(), taken = new Set();
	const others = [...OTHERS, ...Object.values(OF_FAMILY)];
	for (const name of names) {
		let color = OF_FAMILY[familyOf(name)];
		if (color === undefined || taken.has(color)) color = others.find((one) => !taken.has(one)) ?? OTHERS[0];
		taken.add(color);
		colors.set(name, color);
	}
	return colors;
}

// Among the series of one plot.
export function colorOf(names, name) {
	return colorsOf(names).get(name);
}

function superscript(n) {
	return [...String(n)].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]).join("");
}

// Rates are written as powers of two.
function xTick(experiment) {
	if (experiment.x === "fpr") return (x) => `2${superscript(Math.round(Math.log2(x)))}`;
	if (experiment.log_x) return (x) => (x >= 1e3 ? `${number(x / 1e3)}k` : number(x));
	return number;
}

function tipText(experiment, row) {
	const lines = [row.series];
	if (experiment.x !== null) lines.push(`${experiment.x}: ${xTick(experiment)(row.x)}`);
	lines.push(`here: ${number(row.here)}`);
	if (row.samples > 1) lines.push(`${number(row.least)} to ${number(row.most)}, ${row.samples} rounds`);
	if (row.paper !== null) lines.push(`paper: ${number(row.paper)}`);
	return lines.join("\n");
}

function tip(experiment, rows, channels) {
	return Plot.tip(
		rows,
		Plot.pointer({ ...channels, title: (row) => tipText(experiment, row), fontSize: 12 }),
	);
}

const SERIES_MOST = 4;

// Series that stand together in one plot: those with the same words before the comma, or after it, if that leaves
// two to four in each; otherwise as many as fit, in their order.
export function panelsOf(experiment) {
	const names = seriesOf(experiment);
	if (names.length <= SERIES_MOST) return [{ title: null, names }];
	const parts = [(name) => name.split(", ").slice(1).join(", "), (name) => name.split(", ")[0]];
	const choices = parts.map((part) => groupBy(names, part));
	const fits = (group) => group.length > 1 && group.length <= SERIES_MOST;
	const good = choices.filter((groups) => [...groups.values()].every(fits));
	if (good.length > 0) {
		const best = good.reduce((a, b) => (b.size < a.size ? b : a));
		return [...best].map(([title, group]) => ({ title, names: group }));
	}
	const panels = Math.ceil(names.length / SERIES_MOST), each = Math.ceil(names.length / panels);
	return Array.from({ length: panels }, (_, i) => ({ title: null, names: names.slice(i * each, (i + 1) * each) }));
}

function groupBy(names, part) {
	const groups = new Map();
	for (const name of names) groups.set(part(name), [...(groups.get(part(name)) ?? []), name]);
	return groups;
}

function xsOf(experiment) {
	return [...new Set(experiment.rows.map((row) => row.x))].sort((a, b) => a - b);
}

// Few values, and rates, stand side by side; the strictest rate on the right.
function isOrdinal(experiment) {
	return experiment.x === "fpr" || xsOf(experiment).length <= 3;
}

// Some of the values, far enough from each other for their labels.
function ticksAmong(xs, width, log) {
	const at = log ? Math.log : (x) => x;
	const scale = (width - 80) / (at(xs.at(-1)) - at(xs[0]) || 1);
	const ticks = [];
	for (const x of xs) {
		if (ticks.length === 0 || (at(x) - at(ticks.at(-1))) * scale >= 38) ticks.push(x);
	}
	return ticks;
}

function xScale(experiment, width) {
	const xs = xsOf(experiment), log = experiment.log_x, few = xs.length <= 12;
	return {
		type: isOrdinal(experiment) ? "point" : log ? "log" : "linear",
		label: `${experiment.x} →`,
		tickFormat: xTick(experiment),
		...(isOrdinal(experiment)
			? { domain: experiment.x === "fpr" ? xs.reverse() : xs }
			: {
					domain: [xs[0], xs.at(-1)], // the same in all plots of an experiment
					insetLeft: 8,
					insetRight: 8,
					ticks: few || log ? ticksAmong(xs, width, log) : width < 420 ? 4 : 8,
				}),
	};
}

// 1, 10, 100; with 2 and 5 where that is all there is.
function logTicks(least, most) {
	const steps = most / least > 200 ? [1] : [1, 2, 5];
	const ticks = [];
	for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power++) {
		ticks.push(...steps.map((step) => step * 10 ** power));
	}
	return ticks.filter((tick) => tick >= least && tick <= most);
}

// Loads near each other are looked at from near; speeds and sizes from zero.
function yScale(experiment, rows) {
	const values = rows.flatMap((row) => [row.here, row.paper]).filter((value) => value !== null);
	const least = Math.min(...values), most = Math.max(...values);
	const positive = values.every((value) => value > 0);
	const log = experiment.log_y && positive;
	const near = least < 0 || (experiment.compare === "value" && least > 0.5 * most);
	return {
		type: log ? "log" : "linear",
		label: `↑ ${experiment.unit}${log ? " (logarithmic)" : near ? " (axis does not start at 0)" : ""}`,
		grid: true,
		nice: !log,
		tickFormat: log ? (y) => number(y) : undefined,
		...(log || near ? {} : { domain: [0, most * 1.05] }),
		ticks: log ? logTicks(least, most) : 6,
	};
}

function curves(experiment, width, names) {
	const all = experiment.rows.filter((row) => row.x !== null);
	const rows = all.filter((row) => names.includes(row.series));
	const here = rows.filter((row) => row.here !== null).sort((a, b) => a.x - b.x);
	const said = rows.filter((row) => row.paper !== null).sort((a, b) => a.x - b.x);
	const stroke = (row) => colorOf(names, row.series), several = names.length < seriesOf(experiment).length;
	const lines = { x: "x", z: "series", stroke };
	return Plot.plot({
		width,
		height: several ? 230 : Math.max(260, Math.min(380, Math.round(width * 0.6))),
		marginTop: 32,
		marginLeft: 52,
		marginBottom: 40,
		style: { fontSize: "12px" },
		x: xScale(experiment, width),
		y: yScale(experiment, all), // the same in all plots of an experiment
		marks: [
			Plot.line(said, { ...lines, y: "paper", strokeDasharray: "3 4", strokeOpacity: 0.7 }),
			Plot.dot(said, { x: "x", y: "paper", stroke, r: 4, strokeWidth: 1.5, className: "paper" }),
			Plot.line(here, { ...lines, y: "here", strokeWidth: 2, className: "here-line" }),
			Plot.dot(here, { x: "x", y: "here", fill: stroke, r: 2.5, className: "here" }),
			tip(experiment, here.length > 0 ? here : said, {
				x: "x",
				y: here.length > 0 ? "here" : "paper",
			}),
		],
	});
}

function bars(experiment, width) {
	const rows = experiment.rows.filter((row) => row.here !== null || row.paper !== null);
	const here = rows.filter((row) => row.here !== null);
	const longest = Math.max(...rows.map((row) => row.series.length));
	return Plot.plot({
		width,
		height: 66 + 30 * rows.length,
		marginBottom: 44,
		marginLeft: Math.min(8 + 6.6 * longest, width * 0.42),
		marginRight: 46,
		style: { fontSize: "12px" },
		x: { label: `${experiment.unit} →`, grid: true, ticks: width < 420 ? 4 : 6, zero: true },
		y: { label: null, domain: rows.map((row) => row.series), padding: 0.25 },
		marks: [
			Plot.barX(here, {
				x: "here", y: "series", fill: (row) => colorOf(seriesOf(experiment), row.series), className: "here",
			}),
			Plot.text(here, { x: (row) => Math.max(row.here, row.paper ?? 0), y: "series", text: (row) => number(row.here), textAnchor: "start", dx: 5 }),
			Plot.tickX(rows.filter((row) => row.paper !== null), {
				x: "paper", y: "series", stroke: "currentColor", strokeWidth: 3, className: "paper",
			}),
			Plot.ruleX([0]),
			tip(experiment, rows, { x: (row) => row.here ?? row.paper, y: "series" }),
		],
	});
}

export function isCurve(experiment) {
	return experiment.x !== null;
}

// All series in one plot, for pictures in other pages.
export function drawWhole(experiment, width) {
	return isCurve(experiment) ? curves(experiment, width, seriesOf(experiment)) : bars(experiment, width);
}

// One plot, or several with few series each and a heading that `legend` makes of their names.
export function draw(experiment, width, legend) {
	if (!isCurve(experiment)) return [bars(experiment, width)];
	return panelsOf(experiment).flatMap(({ title, names }) => [
		legend(title, names), curves(experiment, width, names),
	]);
}
