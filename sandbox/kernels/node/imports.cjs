'use strict';
/*
 * Import and export as what a script may say: an import becomes
 * "const {…} = await __warren.load(…)", export is dropped. Lines stay where
 * they are.
 */

const acorn = require('acorn');
const errors = require('./errors.cjs');

const STATIC = /^\s*(?:import\s*["'{*\w]|export\b)/m;

function rewrite(code, name) {
	let tree;
	try {
		tree = acorn.parse(code, {
			ecmaVersion: 'latest', sourceType: 'module',
			allowAwaitOutsideFunction: true, allowHashBang: true,
		});
	} catch (error) {
		if (!STATIC.test(code) || !error.loc)
			return code; /* V8 knows better what is wrong */
		throw syntaxError(error, code, name);
	}
	const edits = [];
	collect(tree, edits);
	return apply(code, edits.sort((a, b) => a.start - b.start));
}

function syntaxError(error, code, name) {
	const message = error.message.replace(/ \(\d+:\d+\)$/, '');
	return errors.placed(new SyntaxError(message), name,
		error.loc.line - 1, error.loc.column,
		code.split('\n')[error.loc.line - 1] ?? '');
}

function collect(node, edits) {
	if (Array.isArray(node)) {
		for (const each of node)
			collect(each, edits);
		return;
	}
	if (!node || typeof node.type !== 'string')
		return;
	const edit = EDITS[node.type]?.(node);
	if (edit)
		edits.push(edit);
	for (const key of Object.keys(node))
		if (typeof node[key] === 'object')
			collect(node[key], edits);
}

const EDITS = {
	ImportDeclaration: (node) => whole(node, importText(node)),
	ImportExpression: (node) => ({
		start: node.start, end: node.source.start,
		text: '__warren.dynamic(',
	}),
	MetaProperty: (node) => node.meta.name === 'import' ?
		whole(node, '__warren.meta') : null,
	ExportAllDeclaration: (node) => whole(node, loadOnly(node)),
	ExportNamedDeclaration: (node) => node.declaration ?
		{ start: node.start, end: node.declaration.start, text: '' } :
		whole(node, node.source ? loadOnly(node) : ''),
	ExportDefaultDeclaration: (node) => ({
		start: node.start, end: node.declaration.start,
		/* a named function or class stays a declaration */
		text: node.declaration.id ? '' : 'void 0, ',
	}),
};

function whole(node, text) {
	return { start: node.start, end: node.end, text };
}

function loadOnly(node) {
	return `void await __warren.load(${args(node)});`;
}

/* The arguments of load: name, names or null, { type } if it is given. */
function args(node, names) {
	const list = [JSON.stringify(node.source.value),
		JSON.stringify(names ?? null)];
	const type = (node.attributes ?? []).find((each) =>
		(each.key.name ?? each.key.value) === 'type');
	if (type)
		list.push(JSON.stringify({ type: type.value.value }));
	return list.join(', ');
}

function importText(node) {
	if (!node.specifiers.length)
		return loadOnly(node);
	const namespace = node.specifiers.find(
		(each) => each.type === 'ImportNamespaceSpecifier');
	const named = node.specifiers.filter((each) => each !== namespace)
		.map((each) => ({
			from: each.imported?.name ?? each.imported?.value ??
				'default',
			to: each.local.name,
		}));
	const pattern = named.map(({ from, to }) =>
		`${JSON.stringify(from)}: ${to}`).join(', ');
	if (namespace) {
		const rest = named.length ?
			`, {${pattern}} = ${namespace.local.name}` : '';
		return `const ${namespace.local.name} = ` +
			`await __warren.load(${args(node)})${rest};`;
	}
	const names = named.map(({ from }) => from);
	return `const {${pattern}} = ` +
		`await __warren.load(${args(node, names)});`;
}

function apply(code, edits) {
	let out = '', at = 0;
	for (const { start, end, text } of edits) {
		const old = code.slice(start, end);
		const lines = old.split('\n').length - 1;
		out += code.slice(at, start) + text + '\n'.repeat(lines);
		at = end;
	}
	return out + code.slice(at);
}

module.exports = { rewrite };
