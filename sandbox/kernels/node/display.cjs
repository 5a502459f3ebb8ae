'use strict';
/* A value becomes a MIME bundle. */

const util = require('node:util');
const { clean, strict } = require('./jsonable.cjs');

const JUPYTER = Symbol.for('Jupyter.display');
const METHODS = {
	_repr_html_: 'text/html',
	_repr_markdown_: 'text/markdown',
	_repr_svg_: 'image/svg+xml',
	_repr_png_: 'image/png',
	_repr_jpeg_: 'image/jpeg',
	_repr_pdf_: 'application/pdf',
	_repr_latex_: 'text/latex',
	_repr_json_: 'application/json',
	_repr_javascript_: 'application/javascript',
};
/* display.html(text) and its like */
const KINDS = {
	html: 'text/html', markdown: 'text/markdown', svg: 'image/svg+xml',
	png: 'image/png', jpeg: 'image/jpeg', pdf: 'application/pdf',
	latex: 'text/latex', json: 'application/json',
	javascript: 'application/javascript',
};

function bundle(value) {
	const own = typeof value === 'object' || typeof value === 'function' ?
		ownBundle(value) : {};
	const data = portable(own);
	if (data['text/plain'] === undefined)
		data['text/plain'] = clean(util.inspect(value, {
			depth: 6, maxArrayLength: 1000,
			maxStringLength: 1 << 20,
		}));
	if (!Object.keys(own).length && typeof value === 'object' &&
	    value !== null) {
		const json = strict(value);
		if (json !== undefined)
			data['application/json'] = json;
	}
	return data;
}

function ownBundle(value) {
	if (value === null)
		return {};
	if (typeof value[JUPYTER] === 'function')
		return { ...value[JUPYTER]() };
	const data = typeof value._repr_mimebundle_ === 'function' ?
		{ ...value._repr_mimebundle_() } : {};
	for (const [name, mime] of Object.entries(METHODS)) {
		if (data[mime] === undefined &&
		    typeof value[name] === 'function')
			data[mime] = value[name]();
	}
	return data;
}

/* A bundle's parts as text: bytes in base64, JSON as data. */
function portable(own) {
	const data = {};
	for (const [mime, value] of Object.entries(own)) {
		if (value === undefined || value === null)
			continue;
		if (ArrayBuffer.isView(value))
			data[mime] = Buffer.from(value.buffer,
				value.byteOffset, value.byteLength)
				.toString('base64');
		else if (value instanceof ArrayBuffer)
			data[mime] = Buffer.from(value).toString('base64');
		else if (typeof value === 'string')
			data[mime] = text(mime, value);
		else if (/[/+]json$/.test(mime))
			data[mime] = strict(value) ?? null;
		else
			data[mime] = clean(String(value));
	}
	return data;
}

function text(mime, value) {
	if (/^image\/(?!svg)/.test(mime))
		return value.replace(/^data:[^,]*,|\s/g, '');
	return clean(value);
}

/* The global display(value, ...), with display.html(text) and its like. */
function makeDisplay(kernel) {
	const display = (...values) => {
		for (const value of values)
			kernel.show(value, true);
	};
	for (const [name, mime] of Object.entries(KINDS)) {
		display[name] = (value) => {
			const data = portable({ [mime]: value });
			if (data['text/plain'] === undefined)
				data['text/plain'] = `[${mime}]`;
			kernel.publish(data, true);
		};
	}
	return display;
}

module.exports = { bundle, makeDisplay };
