'use strict';
/*
 * The names that a cell finds: require, display, module and what the
 * rewritten imports call. All resolve from the current directory.
 */

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { makeDisplay } = require('./display.cjs');
const stop = require('./stop.cjs');

let here = null;

/* A module that stands in the current directory. */
function current() {
	const directory = process.cwd();
	if (here?.directory === directory)
		return here;
	const filename = path.join(directory, '[cell].js');
	const module = new Module(filename);
	module.filename = filename;
	module.paths = Module._nodeModulePaths(directory);
	module._compile('module.exports = (name) => import(name)', filename);
	const load = module.exports;
	module.exports = {};
	module.loaded = true;
	here = { directory, filename, module, load,
		require: Module.createRequire(filename) };
	return here;
}

/* import(name): with names, an object that has them or throws. */
async function load(name, names, attributes) {
	const loaded = await dynamic(name, { with: attributes });
	if (!names)
		return loaded;
	const picked = {};
	for (const each of names)
		picked[each] = pick(loaded, each, name);
	return picked;
}

function pick(loaded, each, name) {
	if (each in loaded)
		return loaded[each];
	/* CommonJS exports that node's scan did not see */
	const whole = loaded.default;
	if (whole !== null && whole !== undefined && each in Object(whole))
		return whole[each];
	throw new SyntaxError(`The requested module '${name}' does not ` +
		`provide an export named '${each}'`);
}

async function dynamic(name, options) {
	const text = String(name);
	if (Module.isBuiltin(text))
		Module._load(text);
	const type = (options?.with ?? options?.assert)?.type;
	if (type === 'json' || /\.json$/.test(text)) {
		const file = current().require.resolve(text);
		return { default: JSON.parse(fs.readFileSync(file, 'utf8')) };
	}
	return current().load(text);
}

/*
 * Node's own modules are loaded as a whole: one that an interrupt leaves half
 * loaded is never loaded again. So are those that it loads at their first use.
 */
function keepWhole() {
	const load = Module._load;

	Module._load = function (name, ...rest) {
		return Module.isBuiltin(name) ?
			stop.held(() => load.call(this, name, ...rest)) :
			load.call(this, name, ...rest);
	};
	void fs.promises;
	void globalThis.crypto;
}

/* The same for the rest of the latter, which takes time; in a zygote. */
function loadLazy() {
	for (const name of ['Blob', 'ReadableStream', 'Response'])
		void globalThis[name];
}

const meta = {
	get url() {
		return pathToFileURL(current().filename).href;
	},
	get dirname() {
		return current().directory;
	},
	get filename() {
		return current().filename;
	},
	resolve(name) {
		const file = current().require.resolve(name);
		return path.isAbsolute(file) ? pathToFileURL(file).href : file;
	},
};

function install(kernel) {
	keepWhole();
	const hidden = {
		__warren: { load, dynamic, meta,
			hold: (value) => {
				kernel.held = value;
			} },
		display: makeDisplay(kernel),
	};
	for (const [name, value] of Object.entries(hidden))
		Object.defineProperty(globalThis, name,
			{ value, configurable: true, writable: true });
	const moving = {
		require: () => current().require,
		module: () => current().module,
		exports: () => current().module.exports,
		__filename: () => current().filename,
		__dirname: () => current().directory,
	};
	for (const [name, get] of Object.entries(moving))
		Object.defineProperty(globalThis, name, {
			get, configurable: true,
			set: (value) => Object.defineProperty(globalThis, name,
				{ value, configurable: true, writable: true }),
		});
}

module.exports = { install, loadLazy };
