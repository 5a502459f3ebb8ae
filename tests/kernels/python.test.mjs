// The Python kernel's own cases.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import { FORKED, Kernel, sleep, value } from './harness.mjs';

const text = (run) => value(run)?.['text/plain'];
const pngs = (run) => run.results.map((each) => each.mime['image/png'])
	.filter(Boolean).map((each) => Buffer.from(each, 'base64'));
const skip = FORKED && 'a zygote has loaded them already';
const KEEP = process.env.WARREN_KEEP_PLOTS;

function isPng(bytes, least = 5000) {
	assert.equal(bytes.subarray(0, 4).toString('hex'), '89504e47');
	assert.ok(bytes.length > least, `${bytes.length} bytes`);
}

describe('python', { timeout: 240_000 }, () => {
	let kernel;
	before(async () => {
		kernel = await Kernel.start('python');
	});
	after(() => kernel.stop());

	/* Run, expect no error; keep the pictures for a look if asked. */
	async function good(code, options) {
		const run = await kernel.run(code, options);
		assert.equal(run.error, undefined, run.error?.traceback.join('\n'));
		if (KEEP)
			pngs(run).forEach((bytes, at) => fs.writeFileSync(
				path.join(KEEP, `${run.done.execution_count}-${at}.png`),
				bytes));
		return run;
	}

	describe('plain cells', () => {
		it('need no IPython', { skip }, async () => {
			await good('x = [n for n in range(10)]');
			const run = await good('import sys; "IPython" in sys.modules, ' +
				'"asyncio" in sys.modules, "numpy" in sys.modules');
			assert.equal(text(run), '(False, False, False)');
		});

		it('may print in a comprehension and have its value', async () => {
			const run = await good('import time; [print(i) for i in range(10)]');
			assert.equal(run.stdout.split('\n').length, 11);
			assert.deepEqual(value(run)['application/json'],
				Array(10).fill(null));
		});

		it('may be indented as a whole', async () => {
			assert.equal(text(await good('\n    y = 1\n    if y:\n' +
				'        y = 2\n    y\n')), '2');
		});

		it('have no result after a semicolon', async () => {
			assert.equal((await good('5;')).results.length, 0);
			assert.equal((await good('(5) ; # x')).results.length, 0);
			assert.equal(text(await good('"a;"')), "'a;'");
		});

		it('keep earlier values as _ and _N', async () => {
			const { done } = await good('6');
			assert.equal(text(await good('_ + 1')), '7');
			assert.equal(text(await good(`_${done.execution_count}`)), '6');
			assert.equal(text(await good(`Out[${done.execution_count}]`)), '6');
		});

		it('keep a __future__ import for later cells', async () => {
			await good('from __future__ import annotations');
			assert.equal(text(await good('def f(a: nope): pass\n' +
				'f.__annotations__')), "{'a': 'nope'}");
		});

		it('are not begun when a later part cannot be compiled', async () => {
			const run = await kernel.run('print("begun")\nreturn 1');
			assert.equal(run.error.ename, 'SyntaxError');
			assert.equal(run.stdout, '');
		});

		it('show their lines in tracebacks and to inspect', async () => {
			await good('def broken():\n    raise KeyError("k")');
			const { error } = await kernel.run('broken()');
			assert.equal(error.ename, 'KeyError');
			assert.ok(error.traceback.some(
				(line) => line.includes('raise KeyError("k")')));
			assert.match(text(await good('import inspect; ' +
				'inspect.getsource(broken)')), /raise KeyError/);
		});

		it('show the causes of an error', async () => {
			const { error } = await kernel.run('try:\n    {}["a"]\n' +
				'except KeyError as e:\n    raise ValueError("v") from e');
			const all = error.traceback.join('\n');
			assert.match(all, /KeyError: 'a'/);
			assert.match(all, /direct cause/);
		});

		it('survive exceptions that cannot be told', async () => {
			const run = await kernel.run('class E(Exception):\n' +
				'    def __str__(self): raise E()\nraise E()');
			assert.equal(run.error.ename, 'E');
		});

		it('survive endless recursion', async () => {
			const run = await kernel.run('def r(): return r()\nr()');
			assert.equal(run.error.ename, 'RecursionError');
			assert.ok(run.error.traceback.length < 100);
		});

		it('survive sys.exit, exit and quit', async () => {
			for (const code of ['import sys; sys.exit(3)', 'exit(3)',
				'raise SystemExit(3)', 'quit()']) {
				const run = await kernel.run(code);
				assert.equal(run.error.ename, 'SystemExit');
			}
			assert.equal(text(await good('1 + 1')), '2');
		});

		it('get EOFError from input()', async () => {
			const run = await kernel.run('input("name? ")');
			assert.equal(run.error.ename, 'EOFError');
			assert.equal(run.stdout, 'name? ');
			assert.equal((await kernel.run('input()')).error.ename, 'EOFError');
		});

		it('read what was supplied, line by line, then EOFError', async () => {
			const run = await good('import sys\nname = input("name? ")\n' +
				'[name, sys.stdin.readline(), *sys.stdin, sys.stdin.read()]',
			{ stdin: 'Ada\n\nx\ny' });
			assert.equal(run.stdout, 'name? ');
			assert.equal(text(run), "['Ada', '\\n', 'x\\n', 'y', '']");
			const end = await kernel.run('input(); input()', { stdin: 'a' });
			assert.equal(end.error.ename, 'EOFError');
		});

		it('read nothing through a stream of another run', async () => {
			await good('old = sys.stdin; own = sys.stdin.fileno()',
				{ stdin: 'secret\n' });
			const run = await kernel.run('old.readline()', { stdin: 'b\n' });
			assert.equal(run.error.ename, 'ValueError');
			assert.equal(text(await good('import os; os.read(0, 9)')), "b''");
			await good('import io; sys.stdin = io.StringIO("mine\\nagain\\n")');
			assert.equal(text(await good('input()', { stdin: 'b\n' })), "'b'");
			assert.equal(text(await good('input()')), "'mine'");
			await good('sys.stdin = sys.__stdin__');
			assert.equal((await kernel.run('input()')).error.ename,
				'EOFError');
		});

		it('may fork: the child has no part in the protocol', async () => {
			const run = await good('import os\npid = os.fork()\n' +
				'if pid == 0:\n    print("child", flush=True)\n' +
				'    display(1)\npid == 0 or os.waitpid(pid, 0)[1]');
			assert.equal(run.stdout, 'child\n');
			assert.equal(run.results.length, 1);
			assert.equal(run.dones, 1);
			assert.equal(text(run), '0');
		});

		it('may use processes and threads', async () => {
			const run = await good('from multiprocessing import Pool\n' +
				'def sq(n): return n * n\n' +
				'with Pool(2) as pool: out = pool.map(sq, range(4))\nout');
			assert.equal(text(run), '[0, 1, 4, 9]');
			const threads = await good('import threading\n' +
				'ts = [threading.Thread(target=lambda n=n: (print(n), ' +
				'display(n))) for n in range(4)]\n' +
				'[t.start() for t in ts]; [t.join() for t in ts]; None');
			assert.equal(threads.results.length, 4);
		});

		it('may pickle their classes', async () => {
			assert.equal(text(await good('import pickle\nclass P: pass\n' +
				'type(pickle.loads(pickle.dumps(P()))).__name__')), "'P'");
		});

		it('have an ordinary import path', async () => {
			const run = await good('import sys; sys.path[0], ' +
				'any("warren" in p for p in sys.path), ' +
				'__name__, sys.argv');
			assert.equal(text(run), "('', False, '__main__', [''])");
		});
	});

	describe('await', () => {
		it('and asyncio.run work in one cell', async () => {
			const run = await good('import asyncio\n' +
				'async def f(n):\n    await asyncio.sleep(0.01)\n' +
				'    return n\na = asyncio.run(f(1))\nb = await f(2)\n' +
				'c = asyncio.run(f(3))\n(a, b, c)');
			assert.equal(text(run), '(1, 2, 3)');
		});

		it('works with async with and async for', async () => {
			const run = await good('class C:\n' +
				'    async def __aenter__(self): return 5\n' +
				'    async def __aexit__(self, *a): pass\n' +
				'async def g():\n    yield 1\n    yield 2\n' +
				'async with C() as c:\n    out = [c]\n' +
				'async for n in g():\n    out.append(n)\nout');
			assert.equal(text(run), '[5, 1, 2]');
		});

		it('works in a loop that an interrupt cut in its own code', async () => {
			await good('import asyncio, threading\n' +
				'await asyncio.sleep(0)\n' +
				'task = asyncio.get_event_loop().create_task(' +
				'asyncio.sleep(0.01, 5))');
			/* As it is after that: who is to run it looks at these. */
			await good('loop = asyncio.get_event_loop()\n' +
				'loop._thread_id = threading.get_ident()\n' +
				'loop._stopping = True\n' +
				'asyncio._set_running_loop(loop)');
			const run = await good('x = await task\n' +
				'async def f(): return 6\n(x, asyncio.run(f()))');
			assert.equal(text(run), '(5, 6)');
		});

		it('runs finally blocks when it is interrupted', async () => {
			const going = kernel.run('try:\n    print("in", flush=True)\n' +
				'    await asyncio.sleep(60)\n' +
				'finally:\n    print("cleaned")');
			await kernel.begun();
			kernel.interrupt();
			const run = await going;
			assert.equal(run.error.ename, 'KeyboardInterrupt');
			assert.equal(run.stdout, 'in\ncleaned\n');
		});
	});

	describe('interrupts', () => {
		for (const [name, code] of [
			['sleep', 'import time; time.sleep(60)'],
			['a child', 'import subprocess; subprocess.run(["sleep", "60"])'],
			['a lock', 'import threading; threading.Event().wait()'],
			['a loop of numpy', 'import numpy as np\nwhile True: ' +
				'np.ones((300, 300)) @ np.ones((300, 300))'],
		])
			it(`reach ${name}`, async () => {
				const going = kernel.run(code);
				await sleep(name.includes('numpy') ? 600 : 200);
				kernel.interrupt();
				const run = await going;
				assert.equal(run.error.ename, 'KeyboardInterrupt');
				assert.equal(text(await good('1 + 1')), '2');
			});

		it('never tear a frame: fifty at random times', async () => {
			for (let turn = 0; turn < 50; turn++) {
				const going = kernel.run('while True: display("x" * 3000)');
				await sleep(2 + Math.random() * 10);
				kernel.interrupt();
				const run = await going;
				assert.equal(run.error.ename, 'KeyboardInterrupt');
				assert.equal(run.dones, 1);
			}
			assert.equal(text(await good('1 + 1')), '2');
		});
	});

	describe('tables', () => {
		it('may have a style, which is HTML', async () => {
			const run = await good('import pandas as pd\n' +
				'pd.DataFrame({"v": [1, 2]}).style.highlight_max()');
			assert.match(run.results[0].mime['text/html'],
				/background-color: yellow[^]*<table/);
		});

		it('are text, HTML and data', async () => {
			const run = await good('import pandas as pd\n' +
				'pd.DataFrame({"a": [1, None], "t": pd.to_datetime(' +
				'["2024-01-02", None])}, index=["x", "y"])');
			const [result] = run.results;
			assert.match(result.mime['text/html'], /<table/);
			assert.match(result.mime['text/plain'], /2024-01-02/);
			assert.deepEqual(result.data, {
				columns: ['a', 't'], index: ['x', 'y'],
				index_names: [null],
				rows: [[1, '2024-01-02T00:00:00'], [null, null]],
			});
		});

		it('are data with several levels too', async () => {
			const run = await good('pd.DataFrame({("a", 1): [1], ' +
				'("a", 2): [True]}, index=pd.MultiIndex.from_tuples(' +
				'[(1, "u")], names=["n", "s"]))');
			assert.deepEqual(run.results[0].data, {
				columns: [['a', 1], ['a', 2]], index: [[1, 'u']],
				index_names: ['n', 's'], rows: [[1, true]],
			});
		});

		it('of many rows are bounded and say so', async () => {
			const { data } = (await good('import numpy as np\n' +
				'pd.DataFrame(np.zeros((200000, 10)))')).results[0];
			assert.equal(data.rows.length, 10000);
			assert.equal(data.total_rows, 200000);
		});

		it('need no IPython', { skip }, async () => {
			assert.equal(text(await good('"IPython" in sys.modules')),
				'False');
		});
	});

	describe('values', () => {
		it('of numpy become JSON in dicts and lists', async () => {
			const run = await good('{"f": np.float32(0.5), "i": ' +
				'np.int64(3), "b": np.bool_(True), 2020: [np.nan]}');
			assert.deepEqual(value(run)['application/json'],
				{ f: 0.5, i: 3, b: true, 2020: [null] });
		});

		it('without a JSON form have none', async () => {
			for (const code of ['[object()]', '{(1, 2): 3}', '[2 ** 70]',
				'[{1, 2}]', '[b"x"]'])
				assert.equal(value(await good(code))['application/json'],
					undefined, code);
			const deep = await good('d = []\nfor _ in range(200): d = [d]\nd');
			assert.equal(value(deep)['application/json'], undefined);
		});

		it('of PIL are pictures', async () => {
			const run = await good('from PIL import Image\n' +
				'Image.new("RGB", (64, 64), "red")');
			isPng(pngs(run)[0], 100);
		});

		it('too large for a frame are cut, and say so', async () => {
			const run = await good('class Big:\n' +
				'    def _repr_html_(self): return "x" * (70 << 20)\nBig()');
			const mime = value(run);
			assert.equal(mime['text/html'], undefined);
			assert.match(mime['text/plain'], /text\/html of \d+ bytes/);
			const long = await good('"y" * (70 << 20)');
			assert.match(text(long), /too large to send\]$/);
			const failed = await kernel.run('raise ValueError("z" * (70<<20))');
			assert.equal(failed.error.ename, 'ValueError');
		});

		it('with one broken form keep the others', async () => {
			const run = await good('class H:\n' +
				'    def _repr_html_(self): raise ValueError("no html")\n' +
				'    def __repr__(self): return "fine"\nH()');
			assert.equal(text(run), 'fine');
			assert.match(run.stderr, /no html/);
		});
	});

	describe('plots', () => {
		it('of the announcement: a heatmap, then its table', async () => {
			const run = await good(`
				import pandas as pd, matplotlib.pyplot as plt, seaborn as sns
				months = ["Jan", "Feb", "Mar", "Apr"]
				rows = [(y, m, y % 100 * 3 + i) for y in (1958, 1959, 1960)
					for i, m in enumerate(months)]
				df = pd.DataFrame(rows, columns=["year", "month", "passengers"])
				pivot = df.pivot(index="month", columns="year",
					values="passengers")
				plt.figure(figsize=(8, 5))
				sns.heatmap(pivot, annot=True, fmt="d", cmap="viridis")
				plt.title("Passengers")
				plt.show()
				pivot.to_dict()`);
			assert.deepEqual(run.events.map((each) => each.type),
				['result', 'result', 'done']);
			isPng(pngs(run)[0]);
			assert.equal(run.results[0].chart.type, 'heatmap');
			assert.deepEqual(run.results[0].chart.elements[0].x,
				['1958', '1959', '1960']);
			assert.equal(run.results[1].mime['application/json'][1958].Jan,
				174);
			assert.match(run.results[1].mime['text/plain'], /^\{1958: \{/);
		});

		it('appear without show, once, after the cell\'s value', async () => {
			const run = await good('plt.plot([1, 2], label="a")');
			assert.equal(run.results.length, 2);
			assert.equal(run.results[0].display, false);
			assert.equal(pngs(run).length, 1);
			assert.equal((await good('1')).results.length, 1);
		});

		it('appear once when they are the value, or displayed', async () => {
			const one = await good('fig, ax = plt.subplots()\n' +
				'ax.plot([1, 2])\nfig');
			assert.equal(pngs(one).length, 1);
			assert.equal(one.results[0].display, false);
			const again = await good('fig');
			assert.equal(pngs(again).length, 1);
			const two = await good('fig, ax = plt.subplots()\n' +
				'ax.plot([1, 2])\ndisplay(fig)');
			assert.equal(pngs(two).length, 1);
		});

		it('come in order with the output', async () => {
			const run = await good('print("first")\nplt.plot([1])\n' +
				'plt.show()\nprint("between")\nplt.figure(); plt.bar([1], [2])' +
				'\nplt.figure(); plt.scatter([1], [2])\nplt.show()\n' +
				'print("end")');
			assert.deepEqual(run.events.map((each) =>
				each.text ?? each.chart?.type ?? each.type),
			['first\n', 'line', 'between\n', 'bar', 'scatter', 'end\n',
				'done']);
		});

		it('appear though the cell fails, before its error', async () => {
			const run = await kernel.run('plt.plot([1])\n1 / 0');
			assert.deepEqual(run.events.map((each) => each.type),
				['result', 'error', 'done']);
		});

		it('appear under matplotlib.use("Agg") and leave no warning',
			async () => {
				const run = await good('import matplotlib\n' +
					'matplotlib.use("Agg")\nplt.plot([1])\nplt.show()');
				assert.equal(pngs(run).length, 1);
				assert.equal(run.stderr, '');
			});

		it('that are empty do not appear', async () => {
			assert.equal((await good('plt.figure();')).results.length, 0);
		});

		it('leave subprocesses their own backend', async () => {
			const run = await good('import os; os.environ.get("MPLBACKEND")');
			assert.equal(run.results.length, 0);
		});
	});
});
