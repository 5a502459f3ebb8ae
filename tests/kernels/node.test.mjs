// The JavaScript and TypeScript kernel's own cases.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import { Kernel, sleep, spin, value } from './harness.mjs';

const text = (run) => value(run)?.['text/plain'];

for (const language of ['javascript', 'typescript'])
	describe(language, { timeout: 240_000 }, () => {
		let kernel;
		before(async () => {
			kernel = await Kernel.start(language);
			const put = (name, body) => {
				const file = path.join(kernel.dir, name);
				fs.mkdirSync(path.dirname(file), { recursive: true });
				fs.writeFileSync(file, body);
			};
			put('local.mjs', 'export const a = 1; export default 2;');
			put('data.json', '{"n": [1]}');
			put('node_modules/esm/package.json',
				'{"name":"esm","type":"module","exports":{"import":"./i.js"}}');
			put('node_modules/esm/i.js', 'export const seen = "esm";');
			put('node_modules/hidden/index.js',
				'const all = {}; all["f" + "n"] = () => 7; ' +
				'module.exports = all;');
		});
		after(() => kernel.stop());

		async function good(code, options) {
			const run = await kernel.run(code, options);
			assert.equal(run.error, undefined,
				run.error?.traceback.join('\n'));
			return run;
		}

		it('lets a later cell declare again', async () => {
			await good('const c = 1; let l = 1; class K {}; function f() {}');
			await good('const c = 2; let l = 2; class K {}; function f() {}');
			assert.equal(text(await good('c + l')), '4');
			await good('const { p, q: [r] } = { p: 1, q: [2] }');
			assert.equal(text(await good('p + r')), '3');
		});

		it('keeps const constant', async () => {
			const run = await kernel.run('c = 3');
			assert.equal(run.error.ename, 'TypeError');
			assert.equal(text(await good('c')), '2');
		});

		it('refuses to declare twice in one cell', async () => {
			const run = await kernel.run('let twice = 1; let twice = 2;');
			assert.equal(run.error.ename, 'SyntaxError');
		});

		it('resolves promises and calls functions as last value', async () => {
			assert.equal(text(await good('(async () => ({ a: 1 }))()')),
				'{ a: 1 }');
			assert.equal(text(await good('(() => "iife")()')), "'iife'");
			const run = await kernel.run('Promise.reject(new RangeError("r"))');
			assert.equal(run.error.ename, 'RangeError');
			assert.equal(run.errors.length, 1);
			const run2 = await kernel.run('await Promise.reject("plain")');
			assert.equal(run2.error.evalue, 'plain');
		});

		it('has the value of an object literal, not of a block', async () => {
			assert.deepEqual(value(await good('{ a: 1, b: 2 }'))[
				'application/json'], { a: 1, b: 2 });
			assert.equal(text(await good('{ let x = 5; x }')), '5');
			assert.equal(text(await good('if (true) { 3 }')), '3');
		});

		it('shows odd values', async () => {
			for (const [code, shown] of [['10n ** 20n',
				'100000000000000000000n'], ['-0', '-0'], ['NaN', 'NaN'],
			['null', 'null'], ['Symbol("s")', 'Symbol(s)'],
			['new Map([[1, 2]])', 'Map(1) { 1 => 2 }'],
			['"a" + "b"', "'ab'"], ['1 === 1', 'true'], ['-5', '-5'],
			['Object.create(null)', '[Object: null prototype] {}']])
				assert.equal(text(await good(code)), shown);
			assert.equal(value(await good('new Map()'))['application/json'],
				undefined);
			assert.equal(value(await good('({ f() {} })'))[
				'application/json'], undefined);
			assert.deepEqual(value(await good('({ d: new Date(0) })'))[
				'application/json'], { d: '1970-01-01T00:00:00.000Z' });
		});

		it('imports from files, packages and node', async () => {
			const run = await good('import dflt, { a as b } from ' +
				'"./local.mjs";\nimport * as all from "./local.mjs";\n' +
				'import { seen } from "esm";\nimport { fn } from "hidden";\n' +
				'import path, { join } from "node:path";\n' +
				'import data from "./data.json" with { type: "json" };\n' +
				'[dflt, b, all.a, seen, fn(), join("x", path.sep), data.n]');
			assert.deepEqual(value(run)['application/json'],
				[2, 1, 1, 'esm', 7, 'x/', [1]]);
		});

		it('keeps an import for later cells', async () => {
			await good('import { readFileSync } from "node:fs";');
			assert.equal(text(await good('typeof readFileSync')),
				"'function'");
			await good('import { readFileSync } from "node:fs";');
		});

		it('imports when the code runs, and requires', async () => {
			assert.equal(text(await good(
				'(await import("./local.mjs")).default')), '2');
			assert.equal(text(await good('require("./data.json").n')),
				'[ 1 ]');
			assert.match(text(await good('import.meta.url')), /^'file:/);
			assert.equal(text(await good('__dirname === process.cwd()')),
				'true');
			assert.equal(text(await good('"import(1) export"')),
				"'import(1) export'");
		});

		it('tells a missing export or module', async () => {
			const run = await kernel.run('import { no } from "./local.mjs"');
			assert.match(run.error.evalue, /export named 'no'/);
			const run2 = await kernel.run('import x from "not-there"');
			assert.match(run2.error.evalue, /not-there/);
		});

		it('exports without effect', async () => {
			await good('export const ex = 1; export function fx() { return 2 }');
			assert.equal(text(await good('export default ex + fx()')), '3');
		});

		it('reports what nothing caught as an error of the run', async () => {
			const timer = await kernel.run('setTimeout(() => { throw new ' +
				'Error("late") }, 10); await new Promise((r) => ' +
				'setTimeout(r, 50)); 5');
			assert.equal(timer.error.evalue, 'late');
			assert.equal(text(timer), '5');
			const promise = await kernel.run('Promise.reject(new Error("un"));' +
				'6');
			assert.equal(promise.error.evalue, 'un');
			assert.equal(text(await good('1 + 1')), '2');
		});

		it('reports it on stderr while idle', async () => {
			kernel.idle = '';
			await good('{ const fs = require("fs"), i = setInterval(() => {' +
				' if (fs.existsSync("go")) { clearInterval(i);' +
				' throw new Error("idle") } }, 10) }; 0');
			fs.writeFileSync(path.join(kernel.dir, 'go'), '');
			while (!/Error: idle/.test(kernel.idle))
				await sleep(10);
			assert.equal(text(await good('1 + 1')), '2');
		});

		it('tells where in the cell an error is', async () => {
			const run = await kernel.run('function thrower() {\n' +
				'\tthrow new RangeError("here");\n}\nthrower()');
			const name = `cell${run.done.execution_count}`;
			assert.match(run.error.traceback[1],
				new RegExp(`${name}\\.[jt]s:2:`));
			const syntax = await kernel.run('let ok = 1;\nlet = = 2');
			assert.match(syntax.error.traceback[0], /cell\d+\.[jt]s:2$/);
		});

		it('has its own and Jupyter\'s ways to display', async () => {
			const run = await good('display.html("<p>"); ' +
				'display.svg("<svg/>"); display.markdown("*m*"); ' +
				'display.json({ a: [1] }); ' +
				'display.png(new Uint8Array([1, 2]));\n' +
				'({ [Symbol.for("Jupyter.display")]: () => ' +
				'({ "text/html": "<i>", "text/plain": "i" }) })');
			assert.deepEqual(run.results.map((each) => {
				const { 'text/plain': _, ...rest } = each.mime;
				return rest;
			}), [{ 'text/html': '<p>' }, { 'image/svg+xml': '<svg/>' },
				{ 'text/markdown': '*m*' }, { 'application/json': { a: [1] } },
				{ 'image/png': 'AQI=' }, { 'text/html': '<i>' }]);
		});

		it('stops a loop that is entered after an await or a timer',
			async () => {
				for (const code of ['await 0; while (true);',
					'await new Promise((r) => setTimeout(r, 20)); while (true);',
					'setTimeout(() => { while (true); }, 20); ' +
						'await new Promise(() => {})',
					'import { setTimeout as s } from "node:timers/promises";' +
						'await s(20); while (true);']) {
					const going = kernel.run(code.replace('while (true);',
						'console.log("in"); while (true);'));
					await kernel.begun();
					kernel.interrupt();
					const run = await going;
					assert.equal(run.error.ename, 'Interrupted', code);
					assert.equal(text(await good('1 + 1')), '2');
				}
			});

		it('reads what was supplied by stream and by descriptor', async () => {
			const all = await good('let given = ""; ' +
				'for await (const c of process.stdin) given += c; given',
			{ stdin: 'a\nb' });
			assert.equal(text(all), "'a\\nb'");
			const part = await good('const two = Buffer.alloc(2); ' +
				'require("node:fs").readSync(0, two); String(two)',
			{ stdin: 'abcd' });
			assert.equal(text(part), "'ab'");
			const asked = await good('const rl = (await import(' +
				'"node:readline/promises")).createInterface(' +
				'{ input: process.stdin, output: process.stdout }); ' +
				'const name = await rl.question("name? "); rl.close(); name',
			{ stdin: 'Ada\nmore\n' });
			assert.equal(text(asked), "'Ada'");
			assert.match(asked.stdout, /name\? /);
		});

		it('reads nothing through a stream of another run', async () => {
			await good('const old = process.stdin; old.pause(); 1',
				{ stdin: 'secret' });
			const run = await good('let late = ""; old.on("data", ' +
				'(c) => late += c); await new Promise((r) => ' +
				'setTimeout(r, 100)); late', { stdin: 'other' });
			assert.equal(text(run), "''");
			assert.equal(text(await good('require("node:fs")' +
				'.readFileSync(0, "utf8")')), "''");
		});

		/* what is cut while it loads Node takes for loaded, and empty */
		it('leaves none of Node\'s modules half loaded', async () => {
			for (const name of ['http2', 'repl', 'test', 'cluster', 'wasi',
				'readline/promises', 'https', 'dgram']) {
				const going = kernel.run(`require("node:${name}")`);
				await sleep(1);
				spin(Math.random() * 3);
				kernel.interrupt();
				await going;
				const run = await kernel.run(
					`Object.keys(require("node:${name}")).length > 0`);
				assert.equal(value(run)?.['text/plain'], 'true', name);
			}
		});

		it('shows no frames of its own, wherever an error is shown',
			async () => {
				const { error } = await kernel.run(
					'async function f() { await null; null.x; }\nawait f()');
				assert.deepEqual(error.traceback.slice(1).map((line) =>
					line.replace(/\d+\.[jt]s:.*/, '')),
				['    at f (cell', '    at async cell']);
				for (const code of ['console.log(new Error("x").stack)',
					'console.log(new Error("x"))',
					'await new Promise((done) => setTimeout(() => ' +
					'done(console.log(new Error("x"))), 1))']) {
					const { stdout } = await kernel.run(code);
					assert.match(stdout, /^Error: x\n {4}at .*cell\d+/);
					assert.doesNotMatch(stdout, /kernel|node:internal/);
				}
				const run = await kernel.run('new Error("x")');
				assert.match(value(run)['text/plain'],
					/^Error: x\n {4}at cell\d+\.[jt]s:1:1$/);
			});

		it('lets nothing of an interrupted cell into the next', async () => {
			const going = kernel.run('for (;;) { await new Promise((r) => ' +
				'setTimeout(r, 10)); console.log("tick"); }');

			await kernel.begun();
			kernel.interrupt();
			assert.match((await going).stdout, /tick/);
			const run = await good('await new Promise((r) => ' +
				'setTimeout(r, 100)); 5');
			assert.equal(run.stdout, '');
		});

		for (const [name, code] of Object.entries({
			'while it displays': 'while (true) display("x".repeat(3000))',
			'while it displays much': 'const big = "x".repeat(1 << 20);\n' +
				'while (true) display(big)',
			'between callbacks': 'for (let i = 0; ; i++) ' +
				'await new Promise((r) => setTimeout(r, i % 3))',
			'between callbacks of files': 'const { stat } = ' +
				'require("node:fs/promises"); ' +
				'for (let i = 0; i < 1000; i++) await stat("/"); ' +
				'await new Promise(() => {})',
			'while it prints': 'while (true) console.log("x".repeat(999))',
			'just after it printed': 'console.log("on"); ' +
				'await new Promise(() => {})',
			'while it begins': 'await new Promise(() => {})',
		}))
			it(`no interrupt is lost and no frame is torn: ${name}`, async () => {
				for (let turn = 0; turn < 40; turn++) {
					const going = kernel.run(code);
					await sleep(Math.random() * 12);
					kernel.interrupt();
					const run = await going;
					assert.ok(!run.lost, `turn ${turn}`);
					assert.equal(run.error?.ename, 'Interrupted');
					assert.equal(run.dones, 1);
				}
				const last = await good('console.log("printed"); 1 + 1');
				assert.equal(text(last), '2');
				assert.match(last.stdout, /printed\n$/);
			});

		for (const [name, code] of Object.entries({
			'a request of its server': 'const server = require("node:http")' +
				'.createServer(() => { while (true); });\n' +
				'await new Promise((r) => server.listen(0, r));\n' +
				'await fetch("http://127.0.0.1:" + server.address().port)',
			'data of a stream': 'const s = new (require("node:stream")' +
				'.PassThrough)(); s.on("data", () => { while (true); });\n' +
				's.write("x"); await new Promise(() => {})',
			'a child\'s end': 'require("node:child_process").exec("true", ' +
				'() => { while (true); }); await new Promise(() => {})',
			'a file that was read': 'require("node:fs").readFile(' +
				'"/etc/passwd", () => { while (true); });\n' +
				'await new Promise(() => {})',
			'after an await of a file': 'await require("node:fs/promises")' +
				'.stat("/"); while (true);',
			'an immediate': 'setImmediate(() => { while (true); });\n' +
				'await new Promise(() => {})',
			'a tick': 'setTimeout(() => process.nextTick(() => ' +
				'{ while (true); })); await new Promise(() => {})',
			'a getter that is shown': '({ get _repr_html_() ' +
				'{ while (true); } })',
			'a child that is waited for': 'require("node:child_process")' +
				'.execSync("sleep 2"); while (true);',
		}))
			it(`stops a loop that is entered by ${name}`, async () => {
				/* One that is not entered yet would be by the next run. */
				const going = kernel.run(code.replace('while (true);',
					'console.log("in"); while (true);'));
				if (name === 'a child that is waited for')
					await sleep(400);
				else
					await kernel.begun();
				kernel.interrupt();
				const run = await going;
				assert.ok(!run.lost);
				assert.equal(run.error?.ename, 'Interrupted');
				assert.equal(run.dones, 1);
				assert.equal(text(await good('await new Promise((r) => ' +
					'setTimeout(r, 5, 7))')), '7');
				assert.equal(text(await good('(await require(' +
					'"node:fs/promises").stat("/")).isDirectory()')), 'true');
			});

		it('is interrupted though the cell listens itself, or had vm listen',
			async () => {
				await good('let heard = 0; process.on("SIGINT", ' +
					'() => heard++)');
				await good('require("node:vm").runInThisContext("1", ' +
					'{ breakOnSigint: true })');
				const going = kernel.run('await new Promise(() => {})');
				await sleep(300);
				kernel.interrupt();
				assert.equal((await going).error?.ename, 'Interrupted');
				assert.equal(text(await good('heard')), '1');
				await good('process.removeAllListeners("SIGINT")');
			});

		it('does not let timers outlive sense', async () => {
			assert.equal(text(await good('const t = setTimeout(() => {}, 1e6);' +
				'clearTimeout(t); const i = setInterval(() => {}, 5);' +
				'clearInterval(i); t.hasRef()')), 'true');
			const run = await good('import util from "node:util";\n' +
				'await util.promisify(setTimeout)(5, "v")');
			assert.equal(text(run), "'v'");
		});

		it('reads an empty stdin', async () => {
			const run = await good('import rl from "node:readline/promises";\n' +
				'const lines = []; for await (const l of rl.createInterface(' +
				'{ input: process.stdin })) lines.push(l); lines.length');
			assert.equal(text(run), '0');
		});

		it('cuts what is too large for a frame', async () => {
			const run = await good('display.html("x".repeat(70 << 20)); 1');
			assert.match(run.results[0].mime['text/plain'],
				/text\/html of \d+ bytes/);
			assert.equal(text(run), '1');
		});

		it('survives a stack overflow and odd errors', async () => {
			const run = await kernel.run('(function f() { f() })()');
			assert.equal(run.error.ename, 'RangeError');
			for (const code of ['throw undefined', 'throw null',
				'throw { a: 1 }', 'throw new Proxy({}, {})',
				'throw Object.create(null)',
				'const e = new Error("x"); e.stack = 5; throw e',
				'const w = new Error("w"); w.cause = w; throw w',
				'throw { get message() { throw 1 } }']) {
				const odd = await kernel.run(code);
				assert.equal(odd.dones, 1, code);
				assert.equal(typeof odd.error.ename, 'string', code);
				assert.ok(odd.error.traceback.length, code);
			}
		});

		it('may have any names of ours for itself', async () => {
			await good('const require = 1, display = 2, module = 3');
			assert.equal(text(await good('require + display + module')), '6');
			assert.equal(text(await good('import * as p from "node:path";\n' +
				'typeof p.join')), "'function'");
		});
	});

describe('typescript only', { timeout: 240_000 }, () => {
	let kernel;
	before(async () => {
		kernel = await Kernel.start('typescript');
	});
	after(() => kernel.stop());

	async function good(code) {
		const run = await kernel.run(code);
		assert.equal(run.error, undefined, run.error?.traceback.join('\n'));
		return run;
	}

	it('has enums, const enums and namespaces', async () => {
		await good('enum Colour { Red, Green = 5 }\nconst enum E { A = "a" }');
		assert.equal((await good('namespace N { export const z = 4 }'))
			.results.length, 0);
		assert.deepEqual(value(await good('[Colour.Green, Colour[0], E.A, ' +
			'N.z]'))['application/json'], [5, 'Red', 'a', 4]);
	});

	it('has classes with parameter properties and decorators', async () => {
		const run = await good('const seen: string[] = [];\n' +
			'function mark(c: any) { seen.push(c.name); }\n' +
			'function log(t: any, k: string) { seen.push(k); }\n' +
			'@mark\nclass P {\n\tconstructor(private readonly n: number) {}\n' +
			'\t@log\n\tget(): number { return this.n; }\n}');
		assert.equal(run.results.length, 0);
		assert.deepEqual(value(await good('[new P(3).get(), seen]'))[
			'application/json'], [3, ['get', 'P']]);
	});

	it('has abstract, satisfies, asserts, overloads and generics', async () => {
		const run = await good('abstract class A { abstract f(): number }\n' +
			'class B extends A { override f() { return 1 } }\n' +
			'function over(a: string): string;\n' +
			'function over(a: number): number;\n' +
			'function over(a: any) { return a; }\n' +
			'const id = <T>(x: T): T => x;\n' +
			'const cast = <any>5;\n' +
			'const s = { a: 1 } satisfies Record<string, number>;\n' +
			'function isS(x: unknown): asserts x is string {}\n' +
			'type T1 = keyof typeof s;\n' +
			'[new B().f(), over(2), id(3), cast, s.a!]');
		assert.deepEqual(value(run)['application/json'], [1, 2, 3, 5, 1]);
	});

	it('keeps an import that only a later cell uses', async () => {
		await good('import { join } from "node:path";\n' +
			'import type { Stats } from "node:fs";');
		assert.equal(text(await good('join("a", "b")')), "'a/b'");
	});

	it('does not check types', async () => {
		assert.equal(text(await good('const n: number = "text" as any; n')),
			"'text'");
		assert.equal(text(await good('undeclaredType as Nope'.replace(
			'undeclaredType', '5'))), '5');
	});

	it('takes JSX where it is used', async () => {
		await good('const React = { createElement: (t: string, p: any, ' +
			'...c: any[]) => `<${t}>${c}</${t}>` };');
		assert.equal(text(await good('const el: any = <b>hi</b>; el')),
			"'<b>hi</b>'");
	});

	it('maps positions back to the cell\'s lines', async () => {
		const run = await kernel.run('interface A {\n\tx: number;\n}\n' +
			'enum Q { A, B }\n\nfunction g(): never {\n' +
			'\tthrow new Error("line seven");\n}\ng();');
		assert.match(run.error.traceback[1], /cell\d+\.ts:7:/);
	});

	it('tells a syntax error as JavaScript does', async () => {
		const { error } = await kernel.run('const ok = 1;\nconst x: = 5');
		assert.equal(error.ename, 'SyntaxError');
		assert.match(error.traceback[0], /cell\d+\.ts:2$/);
		assert.equal(error.traceback[1], 'const x: = 5');
	});

	it('takes top-level await', async () => {
		assert.equal(text(await good('const r: number = await ' +
			'Promise.resolve(5); r')), '5');
	});
});
