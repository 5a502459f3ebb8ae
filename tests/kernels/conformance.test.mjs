// What every language's kernel holds to.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import { Kernel, rows, sleep, value } from './harness.mjs';
import { words } from './words.mjs';

const ROUNDS = Number(process.env.WARREN_ROUNDS ?? 24);


it('names and aliases of kernels.def are all different', () => {
	const names = rows().flatMap((row) => [row.name, ...row.aliases]);
	assert.equal(new Set(names).size, names.length);
	assert.ok(names.length >= 7);
});

for (const row of rows()) {
	const say = words[row.name];
	/* a value's text; what was printed where a language has no values */
	const text = (run) => say.printed ? run.stdout.replace(/\n$/, '') :
		value(run)?.['text/plain'];
	const word = (name) => say[name] === null ?
		{ skip: `${row.name} has no such thing` } : {};
	describe(row.name, { timeout: 240_000 }, () => {
		let kernel;
		const fresh = async () => {
			await kernel?.stop();
			kernel = await Kernel.start(row.name);
		};
		const alive = async () => {
			const run = await kernel.run(say.two);
			assert.equal(text(run), '2');
			assert.deepEqual(run.events.map((each) => each.type),
				[say.printed ? 'stdout' : 'result', 'done']);
		};
		before(fresh);
		after(() => kernel.stop());

		it('says at its start what it is', () => {
			assert.equal(kernel.info.language, row.name);
			assert.match(kernel.info.version, /^\d+\.\d+\.\d+$/);
		});

		it('prints a line and ends with one DONE', async () => {
			const run = await kernel.run(say.hello);
			assert.equal(run.stdout, 'Hello World\n');
			assert.equal(run.error, undefined);
			assert.equal(run.dones, 1);
			assert.equal(run.events.at(-1).type, 'done');
		});

		it('keeps a last line without newline', async () => {
			assert.equal((await kernel.run(say.noNewline)).stdout, 'x');
		});

		it('gives output while the cell runs', async () => {
			const { events } = await kernel.run(say.slow);
			const at = events.filter((each) => each.type === 'stdout')
				.map((each) => each.at);
			assert.equal(at.length, 3);
			assert.ok(at[1] - at[0] > 150 && at[2] - at[1] > 150, `${at}`);
		});

		it('does not hold text until its newline', async () => {
			const { events, stdout } = await kernel.run(say.partial);
			assert.equal(stdout, '.!');
			const [first, last] = events;
			assert.ok(last.at - first.at > 250, `${first.at} ${last.at}`);
		});

		it('keeps stdout and stderr apart', async () => {
			const run = await kernel.run(say.both);
			assert.equal(run.stdout, 'out\n');
			assert.equal(run.stderr, 'err\n');
		});

		it('keeps its own, its children\'s and raw output in order with ' +
			'results', async () => {
			const { events } = await kernel.run(say.order);
			const told = [];
			for (const each of events) {
				if (each.type === 'stdout' && told.at(-1)?.endsWith('\n'))
					told[told.length - 1] += each.text;
				else
					told.push(each.text ?? each.mime?.['text/plain'] ??
						each.type);
			}
			assert.deepEqual(told, ['a\nb\nc\n', say.quoted('shown'),
				'd\n', '42', 'done']);
		});

		it('loses nothing of large output', async () => {
			const run = await kernel.run(say.large);
			assert.equal(run.stdout.length, 3000001);
			assert.equal(run.results[0].mime['text/plain'].length,
				500002);
		});

		it('keeps names between runs and not between contexts', async () => {
			await kernel.run(say.set);
			assert.equal(text(await kernel.run(say.get)), '42');
			const second = await Kernel.start(row.name);
			const { error } = await second.run(say.other);
			await second.stop();
			assert.equal(error.ename, say.notFound.ename);
			assert.match(error.evalue, say.notFound.evalue);
		});

		it('counts runs, failed ones too', async () => {
			const first = (await kernel.run(say.one)).done.execution_count;
			await kernel.run(say.syntax);
			const third = (await kernel.run(say.one)).done.execution_count;
			assert.equal(third, first + 2);
		});

		it('tells an error by name, text and traceback', async () => {
			const run = await kernel.run(say.fail);
			assert.equal(run.error.ename, say.failed);
			assert.ok(run.error.traceback.length > 1);
			const all = run.error.traceback.join('\n');
			assert.ok(all.includes(run.error.evalue));
			assert.ok(!all.includes('/kernels'), all);
			assert.equal(run.stderr, '');
			assert.equal(run.results.length, 0);
			await alive();
		});

		it('tells a syntax error as an error', async () => {
			const run = await kernel.run(say.syntax);
			assert.equal(run.error.ename, 'SyntaxError');
			assert.ok(run.error.traceback.join('\n').includes(say.syntax));
			assert.equal(run.stdout + run.stderr, '');
			await alive();
		});

		it('awaits at top level', async () => {
			assert.equal(text(await kernel.run(say.topAwait)), '42');
			assert.equal(text(await kernel.run(say.asyncValue)), '42');
		});

		it('has no result for nothing', async () => {
			assert.equal((await kernel.run(say.nothing)).results.length, 0);
			assert.equal((await kernel.run('')).results.length, 0);
		});

		it('gives data as text and as JSON, NaN as null', word('data'),
			async () => {
			const mime = value(await kernel.run(say.data));
			assert.deepEqual(mime['application/json'], say.dataJson);
			assert.ok(mime['text/plain']);
		});

		it('gives what JSON cannot say as text only', word('cycle'),
			async () => {
			const mime = value(await kernel.run(say.cycle));
			assert.equal(mime['application/json'], undefined);
			assert.ok(mime['text/plain']);
		});

		it('displays rich values', async () => {
			const html = (await kernel.run(say.html)).results[0];
			assert.equal(html.mime['text/html'], '<b>x</b>');
			assert.equal(html.display, true);
			const png = (await kernel.run(say.png)).results[0];
			assert.equal(png.mime['image/png'], 'iVBORw==');
		});

		it('survives a value that cannot be shown', word('brokenRepr'),
			async () => {
			const run = await kernel.run(say.brokenRepr);
			assert.equal(run.error.ename, 'TypeError');
			assert.equal(run.dones, 1);
			await alive();
		});

		it('makes valid text of surrogates and NUL', async () => {
			assert.match(text(await kernel.run(say.badText)),
				/^'?a.+b.+c'?$/);
		});

		it('makes valid text of an error\'s', word('throwBadText'),
			async () => {
			const { error } = await kernel.run(say.throwBadText);
			assert.equal(error.evalue, 'a\ufffdb\ufffdc');
		});

		for (const loop of ['spin', 'spinCatching', 'wait', 'displaySpin'])
			it(`stops at an interrupt: ${loop}`, async () => {
				const going = kernel.run(say[loop]);
				await sleep(300);
				kernel.interrupt();
				const run = await going;
				assert.ok(!run.lost);
				assert.equal(run.error.ename, say.interrupted);
				assert.equal(run.dones, 1);
				await alive();
			});

		it('ignores an interrupt while idle', async () => {
			kernel.interrupt();
			await sleep(100);
			await alive();
		});

		it('ends a run whose interrupt comes before it has begun',
			async () => {
				/* what it imports: half an import is no use later */
				await kernel.run(say.topAwait);
				for (let turn = 0; turn < ROUNDS; turn++) {
					const going = kernel.run(say.wait);
					for (let n = turn % 8; n > 0; n--)
						await new Promise(setImmediate);
					kernel.interrupt();
					const run = await going;
					assert.ok(!run.lost, `turn ${turn}`);
					assert.equal(run.error?.ename, say.interrupted);
					assert.equal(run.dones, 1);
				}
				await alive();
			});

		it('is not interrupted by what came before the run', async () => {
			for (let turn = 0; turn < ROUNDS; turn++) {
				kernel.interrupt();
				const run = await kernel.run(say.two);
				assert.equal(run.error, undefined, `turn ${turn}`);
				assert.equal(text(run), '2');
			}
		});

		it('has env and cwd for one run', async () => {
			const home = text(await kernel.run(say.cwd));
			const run = await kernel.run(say.env, { env: { WARREN_X: 'a b' } });
			assert.equal(text(run), say.quoted('a b'));
			assert.equal(text(await kernel.run(say.env)),
				say.quoted('none'));
			const there = await kernel.run(say.cwd, { cwd: '/usr' });
			assert.equal(text(there), say.quoted('/usr'));
			assert.equal(text(await kernel.run(say.cwd)), home);
			const wrong = await kernel.run(say.one, { cwd: '/no/such' });
			assert.match(wrong.error.evalue, /no such file/i);
			await alive();
		});

		it('keeps what the tenant\'s code changed of them', async () => {
			await kernel.run(say.setEnv);
			assert.equal(text(await kernel.run(say.env)),
				say.quoted('mine'));
			await kernel.run(say.setCwd);
			assert.equal(text(await kernel.run(say.cwd)),
				say.quoted('/tmp'));
			await fresh();
		});

		it('reads what was supplied, up to its end', async () => {
			const run = await kernel.run(say.readTwo,
				{ stdin: '\u00e4 \ud83d\ude00\nb\n' });
			assert.equal(run.stdout, '\u00e4 \ud83d\ude00 b\nend\n');
			assert.equal((await kernel.run(say.shell('cat'),
				{ stdin: 'c\nd' })).stdout, 'c\nd');
			assert.equal((await kernel.run(say.readAny,
				{ stdin: '' })).stdout, 'end\n');
			const much = 'x'.repeat(1 << 20);
			assert.equal((await kernel.run(say.shell('wc -c'),
				{ stdin: much })).stdout, `${much.length}\n`);
		});

		it('reads nothing that was supplied to another run', async () => {
			const left = { stdin: 'left\nmore\nand more\n' };
			const nothing = async () => assert.equal(
				(await kernel.run(say.readAny)).stdout, 'end\n');
			await nothing();
			await kernel.run(say.one, left);
			await nothing();
			await kernel.run(say.readAny, left);
			await nothing();
			assert.equal((await kernel.run(say.readTwo,
				{ stdin: 'a\nb\n' })).stdout, 'a b\nend\n');
			const going = kernel.run(say.wait, left);
			kernel.interrupt();
			assert.equal((await going).error?.ename, say.interrupted);
			await nothing();
			await kernel.run(say.syntax, left);
			await nothing();
			assert.match((await kernel.run(say.one,
				{ ...left, cwd: '/no/such' })).error.evalue,
				/no such file/i);
			await nothing();
		});

		it('imports from the current directory', async () => {
			const [name, source, use] = say.module;
			fs.writeFileSync(path.join(kernel.dir, name), source);
			assert.equal(text(await kernel.run(use)), '42');
		});

		it('is not disturbed by a file named as its own import', async () => {
			const [name, source, use] = say.shadow;
			fs.writeFileSync(path.join(kernel.dir, name), source);
			const run = await kernel.run(use);
			assert.equal(run.error, undefined);
			assert.ok(text(run));
		});

		it('keeps its socket from children', async () => {
			const run = await kernel.run(say.shell('ls -l /proc/self/fd'));
			assert.ok(!run.stdout.includes(' 3 -> socket'), run.stdout);
		});

		it('lets a second RUN wait for the first', async () => {
			const first = kernel.run(say.slow);
			const second = kernel.run(say.hello);
			const all = (await first).stdout + (await second).stdout;
			assert.equal(all, '0\n1\n2\nHello World\n');
			const shown = kernel.run(say.html);
			const after = kernel.run(say.two);
			const [one, two] = [await shown, await after];
			assert.equal(one.results.length, 1);
			/* what is printed may overtake the DONE before it */
			assert.equal(say.printed ? one.stdout + two.stdout :
				text(two), say.printed ? '2\n' : '2');
		});

		it('takes a megabyte of code', async () => {
			/* In 10,000 lines: half a million are another claim. */
			const line = `${say.one.padEnd(104)}\n`;
			const run = await kernel.run(
				`${line.repeat(10_000)}\n${say.hello}`);
			assert.equal(run.stdout, 'Hello World\n');
		});

		it('ends at once when the code ends it', async () => {
			const run = await kernel.run(say.exit);
			assert.equal(run.lost, true);
			assert.equal(run.dones, 0);
			assert.equal((await kernel.exited).code, 7);
			await fresh();
		});

		it('ends when its socket does', async () => {
			const end = await kernel.stop();
			assert.deepEqual(end, { code: 0, signal: null });
			await fresh();
		});
	});
}
