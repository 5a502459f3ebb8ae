'use strict';
/* Thrown values as ERROR payloads: name, text and a stack of the cell's. */

const util = require('node:util');
const { clean } = require('./jsonable.cjs');

const CELL = /\bcell\d+\.[jt]s\b/;
const OURS = [__dirname, 'at Session.post (node:inspector', '(evalmachine.'];
const INNER = /\(?(?:node:|native )/;

/* Maps a stack's positions in stripped TypeScript back: set by strip(). */
const maps = new Map();

/* What a cell threw; a syntax error is given its place in the cell. */
function from(details, thrown, script, name) {
	if (thrown instanceof SyntaxError && details.scriptId &&
	    !CELL.test(String(thrown.stack))) {
		const lines = script.split('\n');
		const { lineNumber: row, columnNumber: column } = details;
		/* the end of input is in the line that the kernel adds */
		const line = Math.min(row, lines.length - 1);
		placed(thrown, name, line,
			line === row ? column : lines[line].length,
			lines[line]);
	}
	return thrown;
}

/* Give error a stack that shows where in the cell it is. */
function placed(error, name, line, column, text) {
	error.stack = `${name}:${line + 1}\n${text}\n${' '.repeat(column)}^\n` +
		`\n${error.name}: ${error.message}`;
	return error;
}

function interrupted() {
	const error = new Error('the run was interrupted');
	error.name = 'Interrupted';
	error.stack = 'Interrupted: the run was interrupted';
	return error;
}

function describe(error) {
	try {
		return describeSafely(error);
	} catch {
		return { ename: 'Error', evalue: '', traceback: ['Error'] };
	}
}

function describeSafely(error) {
	if (!util.types.isNativeError(error) && !(error instanceof Error)) {
		const text = clean(typeof error === 'string' ? error :
			util.inspect(error));
		return { ename: 'Error', evalue: text,
			traceback: [`Uncaught ${text}`] };
	}
	const name = error.name || error.constructor?.name || 'Error';
	return { ename: clean(String(name)),
		evalue: clean(String(error.message)),
		traceback: stackOf(error) };
}

function stackOf(error) {
	const stack = typeof error.stack === 'string' ? error.stack :
		`${error.name}: ${error.message}`;
	let lines = tenantsPart(stack.split('\n')).map(mapped);
	if (error.cause !== undefined && error.cause !== error) {
		const cause = describe(error.cause).traceback;
		lines = lines.concat(`[cause]: ${cause[0]}`, cause.slice(1));
	}
	return lines.map(clean);
}

/*
 * A stack without the kernel's frames and what Node does for them, also where
 * the tenant prints it: what is below them are only awaits of the cell's.
 */
function trace(error, sites) {
	const frames = sites.map(String);
	const ours = frames.findIndex((each) => each.includes(__dirname));
	let end = ours < 0 ? frames.length : ours;
	while (ours > 0 && end > 0 && INNER.test(frames[end - 1]))
		end--;
	const kept = frames.slice(0, end).concat(ours < 0 ? [] :
		frames.slice(ours).filter((each) => each.startsWith('async ') &&
			!each.includes(__dirname)));
	let head = 'Error';
	try {
		head = Error.prototype.toString.call(error);
	} catch {
		/* its name or message cannot be had */
	}
	return [head, ...kept.map((each) => `    at ${each}`)].join('\n');
}

function install() {
	Error.prepareStackTrace = trace;
}

/* The stack without the kernel's own frames at its end. */
function tenantsPart(lines) {
	const last = lines.findLastIndex((line) => CELL.test(line));
	const ours = lines.findIndex((line, at) => at > last &&
		OURS.some((text) => line.includes(text)));
	return ours < 0 ? lines : lines.slice(0, ours);
}

function mapped(line) {
	return line.replace(/\b(cell\d+\.ts):(\d+):(\d+)/g,
		(all, name, row, column) => {
			const entry = maps.get(name)?.findEntry(row - 1,
				column - 1);
			if (entry?.originalLine === undefined)
				return all;
			return `${name}:${entry.originalLine + 1}:` +
				`${entry.originalColumn + 1}`;
		});
}

module.exports = { install, from, placed, interrupted, describe, maps };
