#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Makes one self-contained page of the JSON files of nidus bench paper and bench wiredtiger.
//
//     node report/build.mjs OUT.html RUN.json...

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

// Fewer keys than this lie in the caches of most machines.
const CACHED = 2 ** 24;

// Papers of all runs, each with the experiments of all runs.
function merge(runs) {
	const papers = [];
	for (const run of runs) {
		for (const paper of run.papers) {
			const known = papers.find((one) => one.name === paper.name);
			if (known) known.experiments.push(...paper.experiments);
			else papers.push(structuredClone(paper));
		}
	}
	return papers;
}

// Rounds that count although other programs or the host took processors away, as bench/disturbance.c judges it.
function disturbedOf(runs) {
	const blocks = runs.flatMap((run) => run.blocks ?? []).filter((block) => block.kept && block.seconds >= 0.2);
	const disturbed = blocks.filter((block) => block.others > 0.1 || block.stolen > 0.02);
	return blocks.length === 0 ? {} : { "disturbed": `${disturbed.length} of ${blocks.length} rounds of a fifth of a second and more` };
}

function factsOf(runs) {
	const [first] = runs;
	const minutes = runs.reduce((sum, run) => sum + run.seconds, 0) / 60;
	return {
		"date": first.date,
		"processor": `${first.cpu}, ${first.processors} processors (${first.caches})`,
		"compiler": `${first.compiler}, ${first.isa}, huge pages: ${first.huge_pages}`,
		"nidus": `${first.nidus}${first.commit ? `, commit ${first.commit}` : ""}`,
		"run": `${first.quick ? "quick, " : ""}filters of ${first.keys.toLocaleString("en")} keys, tables of ${first.slots.toLocaleString("en")} slots, ${first.rounds} rounds; ${minutes.toFixed(0)} minutes in all`,
		...disturbedOf(runs),
		...(first.note ? { "note": first.note } : {}),
	};
}

function warningsOf(runs) {
	const [first] = runs;
	const warnings = [];
	if (first.processor_share < 0.9)
		warnings.push(`Other programs were at work: the main thread had a processor ${Math.round(100 * first.processor_share)} % of the time. Loads, rates, bits and counts do not depend on that. Speeds of one thread are per second of processor time and suffer less than those of several threads and of WiredTiger; none of them is what a quiet machine gives.`);
	if (first.keys < CACHED) warnings.push(`Filters had ${first.keys.toLocaleString("en")} keys: their tables fit into the last cache, and speeds say little about larger ones.`);
	return warnings;
}

function pageData(runs) {
	return {
		lead: "The experiments of five papers on fingerprint filters, run again with nidus: what each paper says beside what was measured here.",
		facts: factsOf(runs),
		warnings: warningsOf(runs),
		papers: merge(runs),
		commands: [
			"./dev report                    # measures for minutes, writes build/report/report.html",
			"build/nidus bench paper all     # every experiment with 10^8 keys: hours",
			"build/nidus bench wiredtiger",
		],
	};
}

export async function makePage(runs) {
	const bundle = await build({
		entryPoints: [here("page.js")],
		bundle: true,
		minify: true,
		format: "iife",
		target: "es2020",
		write: false,
		legalComments: "none",
	});
	const style = await readFile(here("style.css"), "utf8");
	const script = bundle.outputFiles[0].text.replaceAll("</script", "<\\/script");
	const data = JSON.stringify(pageData(runs)).replaceAll("<", "\\u003c");
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nidus: what five papers say, and what was measured</title>
<link rel="icon" href="data:,">
<style>
${style}</style>
</head>
<body>
<header><h1>What five papers say, and what nidus does</h1></header>
<main></main>
<footer>Made by <code>./dev report</code>. Plots by Observable Plot and D3 (ISC licence).</footer>
<script type="application/json" id="run">${data}</script>
<script>${script}</script>
</body>
</html>
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [out, ...files] = process.argv.slice(2);
	if (files.length === 0) {
		console.error("usage: node report/build.mjs OUT.html RUN.json...");
		process.exit(2);
	}
	const runs = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, "utf8"))));
	await writeFile(out, await makePage(runs));
}
