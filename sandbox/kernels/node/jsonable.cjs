'use strict';
/* Values as what JSON can carry, and texts as what UTF-8 can. */

const DEPTH_MAX = 24;
const NODES_MAX = 1e6;
const BAD = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/* text as valid UTF-8 without NUL. */
function clean(text) {
	return text.replace(BAD, '\uFFFD');
}

/*
 * value as JSON data, or undefined if JSON cannot say it: plain objects,
 * arrays and what has toJSON; not functions, classes, BigInt, cycles.
 */
function strict(value) {
	const state = { left: NODES_MAX, failed: false };
	const result = convert(value, state, 0);
	return state.failed ? undefined : result;
}

function convert(value, state, depth) {
	if (--state.left < 0 || depth > DEPTH_MAX)
		state.failed = true;
	if (state.failed)
		return null;
	switch (typeof value) {
	case 'string':
		return clean(value);
	case 'number':
		return Number.isFinite(value) ? value : null;
	case 'boolean':
		return value;
	case 'undefined':
		return null;
	case 'object':
		return value === null ? null : object(value, state, depth);
	default:
		state.failed = true;
		return null;
	}
}

function object(value, state, depth) {
	if (typeof value.toJSON === 'function')
		return convert(value.toJSON(), state, depth + 1);
	if (Array.isArray(value))
		return Array.from(value,
			(item) => convert(item, state, depth + 1));
	const proto = Object.getPrototypeOf(value);
	if (proto !== null && Object.getPrototypeOf(proto) !== null) {
		state.failed = true;
		return null;
	}
	if (proto !== null && proto.constructor?.name !== 'Object') {
		state.failed = true;
		return null;
	}
	const result = {};
	for (const [key, item] of Object.entries(value)) {
		if (item !== undefined)
			set(result, clean(key), convert(item, state, depth + 1));
	}
	return result;
}

/* result[key] = value, for "__proto__" too. */
function set(result, key, value) {
	Object.defineProperty(result, key, {
		value, enumerable: true, configurable: true, writable: true,
	});
}

module.exports = { clean, strict };
