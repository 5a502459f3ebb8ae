'use strict';
/*
 * Types are stripped, not checked: one run of the esbuild program for a cell
 * that has any. A cell that is JavaScript already stays as it is.
 */

const acorn = require('acorn');
const { spawnSync } = require('node:child_process');
const { SourceMap } = require('node:module');
const path = require('node:path');
const errors = require('./errors.cjs');

const ESBUILD = path.join(__dirname, 'node_modules', '@esbuild',
	`linux-${process.arch}`, 'bin', 'esbuild');
/* verbatimModuleSyntax: an import may be used only by a later cell */
const TSCONFIG = JSON.stringify({ compilerOptions: {
	verbatimModuleSyntax: true, experimentalDecorators: true,
} });
const MAP = /\n?\/\/# sourceMappingURL=data:[^,]*,(\S*)\s*$/;
/* What decorators end with is not the cell's value. */
const DECORATED = /\b__decorate(?:Class|Element)\(\[\n(?:\s.*\n)*\], .*\);?\s*$/;

function strip(code, name) {
	if (isPlain(code))
		return code;
	if (/^\s*\{[^]*\}\s*$/.test(code)) {
		/* an object, as in JavaScript, if it can be one */
		const object = run(`(${code.trim()}\n)`, name, 'ts');
		if (object.status === 0)
			return keepMap(object.stdout, name);
	}
	/* JSX excludes <T>casts and <T>(x) => functions: try without first */
	let done = run(code, name, 'ts');
	if (done.status !== 0 && /<[A-Za-z>]/.test(code)) {
		const again = run(code, name, 'tsx');
		if (again.status === 0)
			done = again;
	}
	if (done.error)
		throw done.error;
	if (done.status !== 0)
		throw syntaxError(done.stderr, name);
	return keepMap(done.stdout, name);
}

/*
 * Whether code means the same in both languages: f<T>(x) would not. It also
 * keeps esbuild from dropping a last expression that is constant.
 */
function isPlain(code) {
	if (code.includes('<'))
		return false;
	try {
		acorn.parse(code, {
			ecmaVersion: 'latest', sourceType: 'module',
			allowAwaitOutsideFunction: true,
		});
		return true;
	} catch {
		return false;
	}
}

function run(code, name, loader) {
	return spawnSync(ESBUILD, [`--loader=${loader}`, '--target=es2022',
		`--tsconfig-raw=${TSCONFIG}`, `--sourcefile=${name}`,
		'--sourcemap=inline', '--sources-content=false',
		'--log-level=error', '--color=false', '--log-limit=1'],
	{ input: code, encoding: 'utf8', maxBuffer: 256 << 20, env: {} });
}

function keepMap(script, name) {
	const found = MAP.exec(script);
	if (!found)
		return script;
	const map = JSON.parse(Buffer.from(found[1], 'base64').toString());
	errors.maps.set(name, new SourceMap(map));
	const body = script.slice(0, found.index);
	return DECORATED.test(body) ? `${body}\nvoid 0;` : body;
}

function syntaxError(text, name) {
	const message = /\[ERROR\] (.*)/.exec(text)?.[1] ?? text.trim();
	const error = new SyntaxError(message);
	const at = new RegExp(`${name}:(\\d+):(\\d+):\\n\\s*\\d+ │ (.*)`)
		.exec(text);
	if (at)
		errors.placed(error, name, at[1] - 1, Number(at[2]), at[3]);
	else
		error.stack = `SyntaxError: ${message}`;
	return error;
}

module.exports = { strip };
