// Figures as data, and IPython's part.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import { Kernel, value } from './harness.mjs';

const text = (run) => value(run)?.['text/plain'];
const KEEP = process.env.WARREN_KEEP_PLOTS;

describe('charts', { timeout: 240_000 }, () => {
	let kernel;
	before(async () => {
		kernel = await Kernel.start('python');
		await kernel.run('import matplotlib.pyplot as plt, pandas as pd, ' +
			'numpy as np, datetime');
	});
	after(() => kernel.stop());

	async function chart(code) {
		const run = await kernel.run(`${code}\nNone`);
		assert.equal(run.error, undefined, run.error?.traceback.join('\n'));
		assert.equal(run.results.length, 1);
		const [result] = run.results;
		if (KEEP)
			fs.writeFileSync(path.join(KEEP,
				`chart-${run.done.execution_count}.png`),
			Buffer.from(result.mime['image/png'], 'base64'));
		return result.chart;
	}

	it('of lines have points, labels, units and ticks', async () => {
		const found = await chart('plt.plot([1, 2, 3], [1, 4, float("nan")], ' +
			'label="squares")\nplt.plot([1, 3], [3, 1])\n' +
			'plt.title("T"); plt.xlabel("time (s)"); plt.ylabel("n")\n' +
			'plt.axhline(2); plt.yscale("log"); plt.legend()');
		assert.equal(found.type, 'line');
		assert.equal(found.title, 'T');
		assert.deepEqual(found.elements, [
			{ label: 'squares', points: [[1, 1], [2, 4], [3, null]] },
			{ label: null, points: [[1, 3], [3, 1]] }]);
		assert.equal(found.x.label, 'time (s)');
		assert.equal(found.x.unit, 's');
		assert.equal(found.x.scale, 'linear');
		assert.equal(found.y.unit, null);
		assert.equal(found.y.scale, 'log');
		assert.deepEqual(found.x.ticks[0], { value: 1, label: '1.00' });
	});

	it('of dates have ISO dates', async () => {
		const found = await chart('plt.plot([datetime.date(2024, 1, d) ' +
			'for d in (1, 2)], [1, 2])');
		assert.equal(found.x.scale, 'datetime');
		assert.deepEqual(found.elements[0].points,
			[['2024-01-01T00:00:00', 1], ['2024-01-02T00:00:00', 2]]);
		const series = await chart('pd.Series([1, 2], index=pd.date_range(' +
			'"2024-01-01", periods=2)).plot()');
		assert.deepEqual(series.elements[0].points,
			[['2024-01-01T00:00:00', 1], ['2024-01-02T00:00:00', 2]]);
	});

	it('of categories have their names', async () => {
		const found = await chart('plt.plot(["a", "b"], [1, 2])');
		assert.equal(found.x.scale, 'categorical');
		assert.deepEqual(found.elements[0].points, [['a', 1], ['b', 2]]);
	});

	it('of bars have labels and values', async () => {
		assert.deepEqual((await chart('plt.bar(["a", "b"], [3, 5])')).elements,
			[{ label: 'a', value: 3, group: null },
				{ label: 'b', value: 5, group: null }]);
		assert.deepEqual((await chart('plt.barh(["a", "b"], [3, 5])')).elements,
			[{ label: 'a', value: 3, group: null },
				{ label: 'b', value: 5, group: null }]);
		assert.deepEqual((await chart('plt.bar([10, 20], [3, 5])')).elements
			.map((each) => each.label), ['10', '20']);
	});

	it('of grouped bars have groups', async () => {
		const expected = [['x', 1, 'a'], ['y', 2, 'a'],
			['x', 3, 'b'], ['y', 4, 'b']];
		const plain = await chart('at = np.arange(2)\n' +
			'plt.bar(at - 0.2, [1, 2], 0.4, label="a")\n' +
			'plt.bar(at + 0.2, [3, 4], 0.4, label="b")\n' +
			'plt.xticks(at, ["x", "y"]); plt.legend()');
		const pandas = await chart('pd.DataFrame({"a": [1, 2], "b": [3, 4]}, ' +
			'index=["x", "y"]).plot.bar()');
		const seaborn = await chart('import seaborn as sns\n' +
			'sns.barplot(x=["x", "y"] * 2, y=[1, 2, 3, 4], ' +
			'hue=["a", "a", "b", "b"])');
		for (const found of [plain, pandas, seaborn])
			assert.deepEqual(found.elements.map((each) =>
				[each.label, each.value, each.group]), expected);
	});

	it('of histograms have a bar for each bin', async () => {
		const found = await chart('plt.hist([1, 1, 2, 4], bins=3)');
		assert.deepEqual(found.elements.map((each) =>
			[each.label, each.value]), [['1.5', 2], ['2.5', 1], ['3.5', 1]]);
	});

	it('of points have one element a colour of the legend', async () => {
		const plain = await chart('plt.scatter([1, 2], [3, 4], label="s")');
		assert.equal(plain.type, 'scatter');
		assert.deepEqual(plain.elements,
			[{ label: 's', points: [[1, 3], [2, 4]] }]);
		const split = await chart('sns.scatterplot(x=[1, 2, 3], y=[4, 5, 6], ' +
			'hue=["a", "b", "a"])');
		assert.deepEqual(split.elements, [
			{ label: 'a', points: [[1, 4], [3, 6]] },
			{ label: 'b', points: [[2, 5]] }]);
	});

	it('of seaborn lines have the legend\'s names', async () => {
		const found = await chart('sns.lineplot(x=[1, 2, 1, 2], ' +
			'y=[1, 2, 3, 4], hue=["a", "a", "b", "b"])');
		assert.deepEqual(found.elements, [
			{ label: 'a', points: [[1, 1], [2, 2]] },
			{ label: 'b', points: [[1, 3], [2, 4]] }]);
	});

	it('of pies have labels and angles', async () => {
		const found = await chart('plt.pie([1, 3], labels=["a", "b"])');
		assert.equal(found.type, 'pie');
		assert.deepEqual(found.elements.map((each) =>
			[each.label, Math.round(each.angle)]), [['a', 90], ['b', 270]]);
		assert.equal(found.elements[0].radius, 1);
	});

	it('of boxes have their five numbers', async () => {
		const expected = { label: 'a', min: 1, q1: 2.5, median: 3, q3: 4.5,
			max: 5, outliers: [50] };
		const plain = await chart('plt.boxplot([[1, 2, 3, 3, 4, 5, 50], ' +
			'[1, 2]], labels=["a", "b"])');
		assert.equal(plain.type, 'box');
		assert.deepEqual(plain.elements[0], expected);
		const numbered = await chart('plt.boxplot([[1, 2], [3, 4]])');
		assert.deepEqual(numbered.x.ticks, [{ value: 1, label: '1' },
			{ value: 2, label: '2' }]);
		const seaborn = await chart('sns.boxplot(x=["a"] * 7, ' +
			'y=[1, 2, 3, 3, 4, 5, 50])');
		assert.deepEqual(seaborn.elements[0], expected);
	});

	it('of several axes are one super chart', async () => {
		const found = await chart('fig, (a, b) = plt.subplots(1, 2)\n' +
			'a.plot([1]); a.set_title("A"); b.bar(["x"], [2])\n' +
			'fig.suptitle("both")');
		assert.equal(found.type, 'super');
		assert.equal(found.title, 'both');
		assert.deepEqual(found.elements.map((each) => each.type),
			['line', 'bar']);
	});

	it('of violins are unknown, not the dots in them', async () => {
		for (const draw of [
			'plt.violinplot([[1, 2, 2, 3], [2, 3, 3, 4]])',
			'import seaborn as sns\n' +
				'sns.violinplot(data=pd.DataFrame({"a": range(9), ' +
				'"b": range(9)}))',
			'sns.violinplot(x=[1, 2, 2, 3, 4], inner="quartile")']) {
			const found = await chart(`${draw}\nplt.title("V")`);
			assert.equal(found.type, 'unknown', draw);
			assert.equal(found.title, 'V');
			assert.deepEqual(found.elements, []);
		}
		const band = await chart('x = np.linspace(0, 1, 50)\n' +
			'plt.plot(x, 0 * x); plt.fill_between(x, -x, x)');
		assert.equal(band.type, 'line');
	});

	it('have every character that some font has, and no path of ours',
		async (t) => {
			const draw = (label) => kernel.run(
				`plt.plot([1]); plt.title("${label}"); plt.show()`);
			const missing = await draw('\u{1f9ff}');
			const said = missing.stderr;
			assert.match(said, /Glyph \d+ .* missing/);
			assert.match(said, /^<figure>:0: UserWarning/);
			const fonts = value(await kernel.run(
				'from matplotlib import font_manager as fm\n' +
				'any("WenQuanYi" in f.name for f in ' +
				'fm.fontManager.ttflist)'));
			if (fonts['text/plain'] !== 'True')
				return t.skip('no font with Chinese characters');
			for (const more of ['', 'plt.rcParams["font.family"] = ' +
				'"serif"\n']) {
				await kernel.run(more);
				const run = await draw('日本語 中文');
				assert.equal(run.stderr, '');
			}
		});

	it('do not exist for pictures', async () => {
		assert.equal(await chart('plt.imshow(np.zeros((4, 4, 3)))'),
			undefined);
		assert.equal(await chart('plt.imshow(np.zeros((200, 200)))'),
			undefined);
	});

	it('say their version and source, once', async () => {
		const one = await chart('plt.plot([1])');
		assert.equal(one.version, 1);
		assert.equal(one.source, 'matplotlib');
		const two = await chart('_, (a, b) = plt.subplots(1, 2)\n' +
			'a.plot([1]); b.bar(["x"], [2])');
		assert.equal(two.version, 1);
		assert.equal(two.elements[0].version, undefined);
	});

	it('of heatmaps have names, values and the bar\'s unit', async () => {
		const image = await chart('plt.imshow([[1, 2, 3], [4, np.nan, 6]]); ' +
			'plt.colorbar(label="speed (m/s)")');
		assert.equal(image.type, 'heatmap');
		assert.deepEqual(image.elements, [{ label: 'speed (m/s)', unit: 'm/s',
			x: ['0', '1', '2'], y: ['0', '1'],
			values: [[1, 2, 3], [4, null, 6]] }]);
		const seaborn = await chart('import seaborn as sns\n' +
			'sns.heatmap(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, ' +
			'index=["r", "s"]), annot=True)');
		assert.equal(seaborn.type, 'heatmap');
		assert.deepEqual(seaborn.elements, [{ label: null, unit: null,
			x: ['a', 'b'], y: ['r', 's'], values: [[1, 3], [2, 4]] }]);
		const mesh = await chart('plt.pcolormesh([0, 1, 2], [0, 10, 20], ' +
			'[[1, 2], [3, 4]])');
		assert.deepEqual(mesh.elements[0].x, ['0.5', '1.5']);
		assert.deepEqual(mesh.elements[0].y, ['5', '15']);
	});

	it('of bars leave error marks out, and tell equal values as they are',
		async () => {
			const bars = await chart('plt.bar(["a", "b", "c"], [2, 2, 2], ' +
				'yerr=[0.1, 0.2, 0.3], capsize=4)');
			assert.equal(bars.type, 'bar');
			assert.deepEqual(bars.elements.map((each) =>
				[each.label, each.value]), [['a', 2], ['b', 2], ['c', 2]]);
			const flat = await chart('plt.barh(["a", "b"], [2, 2], ' +
				'xerr=[1, 1])');
			assert.deepEqual(flat.elements.map((each) =>
				[each.label, each.value]), [['a', 2], ['b', 2]]);
		});

	it('of logarithmic and twin axes say so', async () => {
		const log = await chart('plt.loglog([1, 10, 100], [1, 2, 3])');
		assert.equal(log.x.scale, 'log');
		assert.equal(log.y.scale, 'log');
		assert.deepEqual(log.elements[0].points, [[1, 1], [10, 2], [100, 3]]);
		const twin = await chart('_, a = plt.subplots(); a.plot([1, 2]); ' +
			'a.twinx().plot([3, 4])');
		assert.equal(twin.type, 'super');
		assert.deepEqual(twin.elements.map((each) =>
			each.elements[0].points), [[[0, 1], [1, 2]], [[0, 3], [1, 4]]]);
	});

	it('have ticks as one reads them, not as mathtext', async () => {
		const labels = (axis) => axis.ticks.map((each) => each.label);
		const log = await chart('plt.semilogy([1, 2], [0.001, 100]); ' +
			'plt.xticks([1, 2], [r"$\\alpha_1$", r"$\\frac{\\pi}{2}$ rad"])');
		assert.deepEqual(labels(log.x), ['\u03b1\u2081', '\u03c0/2 rad']);
		assert.deepEqual(labels(log.y).filter((each) => /^10[²⁰]$/.test(each)),
			['10⁰', '10²']);
		assert.ok(labels(log.y).includes('10⁻³'), labels(log.y).join());
		/* what has no such characters */
		const odd = await chart('plt.plot([1, 2]); ' +
			'plt.xticks([0, 1], ["$x_{ab}$", "5"])');
		assert.deepEqual(labels(odd.x), ['$x_{ab}$', '5']);
	});

	it('that cannot be read leave the picture and the output', async () => {
		const run = await kernel.run('class Odd(float):\n' +
			' def __float__(self): raise ValueError("no")\n' +
			'print("before")\n_, a = plt.subplots(); line, = a.plot([1, 2])\n' +
			'line.get_label = lambda: 1 / 0\nplt.show()\nprint("after")');
		assert.equal(run.error, undefined);
		assert.equal(run.stdout, 'before\nafter\n');
		assert.equal(run.results[0].chart, undefined);
		assert.match(run.results[0].mime['image/png'], /^iVBOR/);
	});
});

describe('IPython', { timeout: 240_000 }, () => {
	let kernel;
	before(async () => {
		kernel = await Kernel.start('python');
	});
	after(() => kernel.stop());

	async function good(code) {
		const run = await kernel.run(code);
		assert.equal(run.error, undefined, run.error?.traceback.join('\n'));
		return run;
	}

	it('shares names and history with the cells before it', async () => {
		await good('before = 1');
		await good('5');
		const run = await good('%who');
		assert.match(run.stdout, /before/);
		assert.doesNotMatch(run.stdout, /\b(In|Out|get_ipython)\b/);
		assert.equal(text(await good('before + _')), '6');
		assert.equal((await good('1')).done.execution_count, 5);
	});

	it('runs commands live and in order', async () => {
		const run = await good('print("a")\n!echo b; sleep 0.3; echo c\n' +
			'print("d")');
		assert.equal(run.stdout, 'a\nb\nc\nd\n');
		const at = (word) => run.events.find(
			(each) => each.text?.includes(word)).at;
		assert.ok(at('c') - at('b') > 200);
		const value_ = await good('word = "hi"\nx = !echo {word} $word\n' +
			'list(x)');
		assert.deepEqual(value(value_)['application/json'], ['hi hi']);
		assert.match((await good('!false\n_exit_code')).events[0].mime[
			'text/plain'], /1/);
	});

	it('has its magics', async () => {
		assert.match((await good('%timeit -n 1 -r 1 1')).stdout, /per loop/);
		assert.equal((await good('%%bash\necho hi')).stdout, 'hi\n');
		await good('%%writefile made.txt\ncontent');
		assert.equal(text(await good('open("made.txt").read()')),
			"'content\\n'");
		assert.match(text(await good('%pwd')), /warren-k-/);
		await good('%matplotlib inline');
		await good('%%capture cap\nprint("hidden")');
		assert.equal(text(await good('cap.stdout')), "'hidden\\n'");
		assert.match((await good('print?')).stdout, /Prints the values/);
	});

	it('displays by its own classes', async () => {
		const run = await good('from IPython.display import display, HTML, ' +
			'Markdown, SVG, Latex, JSON, Image\ndisplay(HTML("<i>i</i>"))\n' +
			'display(Markdown("*m*")); display(Latex("$x$"))\n' +
			'display(JSON({"a": 1})); display(SVG("<svg></svg>"))');
		const parts = Object.assign({}, ...run.results.map(
			(each) => each.mime));
		assert.equal(parts['text/html'], '<i>i</i>');
		assert.equal(parts['text/markdown'], '*m*');
		assert.equal(parts['text/latex'], '$x$');
		assert.deepEqual(parts['application/json'], { a: 1 });
		assert.match(parts['image/svg+xml'], /<svg/);
	});

	it('shows plots and tables as without it', async () => {
		const run = await good('import matplotlib.pyplot as plt, pandas as pd' +
			'\nplt.plot([1, 2])\nplt.show()\npd.DataFrame({"a": [1]})');
		assert.equal(run.results[0].chart.type, 'line');
		assert.ok(run.results[0].mime['image/png']);
		assert.match(run.results[1].mime['text/html'], /<table/);
		assert.deepEqual(run.results[1].data.rows, [[1]]);
		const shown = await good('fig, ax = plt.subplots(); ax.plot([1])\n' +
			'display(fig, pd.DataFrame({"a": [2]}))');
		assert.equal(shown.results.length, 2);
		assert.equal(shown.results[0].chart.type, 'line');
		assert.deepEqual(shown.results[1].data.rows, [[2]]);
		const caught = await good('%%capture cap\nfig, ax = plt.subplots()\n' +
			'ax.plot([1])\ndisplay(fig)\nplt.close(fig)');
		assert.equal(caught.results.length, 0);
		assert.equal(text(await good('"image/png" in cap.outputs[0].data')),
			'True');
	});

	it('leaves errors, exits and awaits as they were', async () => {
		const run = await kernel.run('1 / 0');
		assert.deepEqual(run.error.traceback.slice(-2), ['    ~~^~~',
			'ZeroDivisionError: division by zero']);
		assert.equal((await kernel.run('exit')).error, undefined);
		assert.equal((await kernel.run('exit()')).error.ename, 'SystemExit');
		assert.equal(text(await good('import asyncio\n' +
			'await asyncio.sleep(0, 3)')), '3');
	});

	it('shows a plotly figure without its script', async () => {
		const found = await kernel.run('import plotly');
		if (found.error) {
			console.log('skipped: no plotly');
			return;
		}
		const run = await good('import plotly.graph_objects as go\n' +
			'go.Figure(go.Bar(x=["a"], y=[1]))');
		assert.ok(run.results[0].mime['application/vnd.plotly.v1+json']);
		assert.equal(run.results[0].mime['text/html'], undefined);
	});
});

it('cells run without IPython installed', async () => {
	const kernel = await Kernel.start('python', { argv: ['/usr/bin/python3',
		'-I', '-c', `
import sys
sys.modules["IPython"] = None
sys.path.insert(0, "/opt/warren/kernels/python")
from warren_kernel.kernel import Kernel
del sys.path[0]
Kernel().serve(3)`] });
	assert.equal(text(await kernel.run('display(1)\nimport asyncio\n' +
		'await asyncio.sleep(0, 5)')), '5');
	assert.equal((await kernel.run('%who')).error.ename, 'SyntaxError');
	assert.equal(text(await kernel.run('get_ipython() is None')), 'True');
	await kernel.stop();
});

it('a warmed kernel serves as a fresh one', async () => {
	const kernel = await Kernel.start('python', { argv: ['/usr/bin/python3',
		'-I', '-c', `
import os, sys
sys.path.insert(0, "/opt/warren/kernels/python")
from warren_kernel.kernel import Kernel
del sys.path[0]
kernel = Kernel()
kernel.warm()
if os.fork() == 0:
    kernel.serve(3)
os.close(3)
os.wait()`] });
	const run = await kernel.run('import pandas as pd\n' +
		'pd.DataFrame({"a": [1]})');
	assert.deepEqual(run.results[0].data.rows, [[1]]);
	assert.equal(run.done.execution_count, 1);
	const plot = await kernel.run('import matplotlib.pyplot as plt\n' +
		'plt.plot([1]); plt.show()');
	assert.equal(plot.results[0].chart.type, 'line');
	assert.equal((await kernel.run('!echo hi')).stdout, 'hi\n');
	assert.equal(text(await kernel.run('In[1][:6], _2 if "_2" in dir() ' +
		'else None')), "('import', None)");
	await kernel.stop();
});
