/**
 * Short notebooks as people write them, cell by cell in one context, with
 * what they are to give: exactly.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { useStack } from './stack.mjs';

const limit = { timeout: 120_000 };
const stack = useStack();

/*
 * Cells: [code, expected]. Of expected, `out` is what is printed, `text` the
 * last value's; `html`, `json`, `data` its other forms; `png` how many
 * pictures, `chart` the first one's [type, part]; `error` [name, message].
 */
const notebooks = {
	python: {
		'cleaning a table': [
			[`
import pandas as pd, io
raw = """name,age,city
 Ann ,34,Rome
Bob,,Oslo
Cy,29,
Bob,,Oslo
"""
df = pd.read_csv(io.StringIO(raw))
df.shape`, { text: '(4, 3)' }],
			[`df["name"] = df["name"].str.strip()
df = df.drop_duplicates().reset_index(drop=True)
df["age"] = df["age"].fillna(df["age"].median())
df["city"] = df["city"].fillna("?")
df`, { text: '  name   age  city\n0  Ann  34.0  Rome\n1  Bob  31.5  Oslo\n' +
				'2   Cy  29.0     ?',
			html: /<table[^]*<td>Rome<\/td>/,
			data: { columns: ['name', 'age', 'city'], index: [0, 1, 2],
				index_names: [null], rows: [['Ann', 34, 'Rome'],
					['Bob', 31.5, 'Oslo'], ['Cy', 29, '?']] } }],
			['df.groupby("city")["age"].mean().to_dict()',
				{ json: { '?': 29, Oslo: 31.5, Rome: 34 } }],
		],
		'joining and pivoting': [
			[`
import pandas as pd
orders = pd.DataFrame({"id": [1, 2, 3], "who": ["a", "b", "a"],
                       "sum": [10, 20, 5]})
names = pd.DataFrame({"who": ["a", "b"], "name": ["Ann", "Bob"]})
merged = orders.merge(names, on="who")
merged.pivot_table(index="name", values="sum", aggfunc="sum")`,
			{ text: '      sum\nname     \nAnn    15\nBob    20',
				data: { columns: ['sum'], index: ['Ann', 'Bob'],
					index_names: ['name'], rows: [[15], [20]] } }],
			['print(merged.to_csv(index=False), end="")',
				{ out: 'id,who,sum,name\n1,a,10,Ann\n3,a,5,Ann\n' +
					'2,b,20,Bob\n' }],
		],
		'dates': [
			[`
import pandas as pd
s = pd.Series(range(6), index=pd.date_range("2024-01-30", periods=6))
s.resample("M").sum()`,
			{ text: '2024-01-31     1\n2024-02-29    14\nFreq: M, dtype: int64' }],
			[`s.rolling(2).mean().dropna().tolist()`,
				{ json: [0.5, 1.5, 2.5, 3.5, 4.5] }],
		],
		'statistics by hand': [
			[`
import numpy as np
x = np.arange(10); y = 3 * x + 2
slope, intercept = np.polyfit(x, y, 1)
print(f"{slope:.3f} {intercept:.3f}")
round(float(np.corrcoef(x, y)[0, 1]), 6)`,
			{ out: '3.000 2.000\n', text: '1.0' }],
			[`
import statistics, collections
words = "the cat and the dog and the bird".split()
print(statistics.median([3, 1, 4, 1, 5]), statistics.stdev([2, 4, 4, 4, 6]))
collections.Counter(words).most_common(2)`,
			{ out: '3 1.4142135623730951\n', text: "[('the', 3), ('and', 2)]" }],
			['np.linalg.solve([[2, 1], [1, 3]], [3, 5])',
				{ text: 'array([0.8, 1.4])' }],
		],
		'plots of each kind': [
			[`
import matplotlib.pyplot as plt, numpy as np, pandas as pd
plt.plot([0, 1, 2], [0, 1, 4], label="squares")
plt.xlabel("time (s)"); plt.title("Growth"); plt.legend()
plt.show()`, { png: 1, chart: ['line', { title: 'Growth' }] }],
			['plt.scatter([1, 2], [3, 4]); plt.show()',
				{ png: 1, chart: ['scatter', {}] }],
			['pd.Series([3, 5], index=["a", "b"]).plot.bar();',
				{ png: 1, chart: ['bar', { elements: [
					{ label: 'a', value: 3, group: null },
					{ label: 'b', value: 5, group: null }] }] }],
			['plt.pie([1, 1], labels=["x", "y"]); plt.show()',
				{ png: 1, chart: ['pie', { elements: [
					{ label: 'x', angle: 180, radius: 1 },
					{ label: 'y', angle: 180, radius: 1 }] }] }],
			['plt.boxplot([[1, 2, 3, 4, 5]]); plt.show()',
				{ png: 1, chart: ['box', { elements: [{ label: '1', min: 1,
					q1: 2, median: 3, q3: 4, max: 5, outliers: [] }] }] }],
			['plt.hist([1, 1, 2], bins=2); plt.show()',
				{ png: 1, chart: ['bar', {}] }],
			['plt.imshow([[1, 2], [3, 4]]); plt.show()',
				{ png: 1, chart: ['heatmap', {}] }],
			[`fig, axes = plt.subplots(1, 2)
axes[0].plot([1, 2]); axes[1].bar(["a"], [1])
plt.show()
plt.plot([3, 4])
print("two figures")`, { out: 'two figures\n', png: 2,
				chart: ['super', {}] }],
		],
		'classes, generators, decorators': [
			[`
from dataclasses import dataclass, field
from functools import lru_cache, wraps

@dataclass(order=True)
class Task:
    priority: int
    name: str = field(compare=False)

sorted([Task(2, "b"), Task(1, "a")])[0]`,
			{ text: "Task(priority=1, name='a')" }],
			[`
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b

from itertools import islice
list(islice(fib(), 10))`, { text: '[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]' }],
			[`
def traced(f):
    @wraps(f)
    def inner(*args):
        print(f.__name__, args)
        return f(*args)
    return inner

@traced
def add(a, b): return a + b
add(1, 2)`, { out: 'add (1, 2)\n', text: '3' }],
			['add(1)', { out: 'add (1,)\n', error: ['TypeError',
				"add() missing 1 required positional argument: 'b'"] }],
		],
		'files': [
			[`
import json, pathlib
folder = pathlib.Path("data"); folder.mkdir()
(folder / "a.json").write_text(json.dumps({"ü": [1, 2]}))
with open(folder / "b.txt", "w") as f:
    f.writelines(f"{i}\\n" for i in range(3))
sorted(p.name for p in folder.iterdir())`, { text: "['a.json', 'b.txt']" }],
			['json.loads((folder / "a.json").read_text())["ü"]',
				{ text: '[1, 2]' }],
			['!wc -l < data/b.txt', { out: '3\n' }],
			[`
import zipfile, hashlib
with zipfile.ZipFile("x.zip", "w") as z: z.write("data/b.txt")
print(zipfile.ZipFile("x.zip").namelist())
hashlib.sha256(b"abc").hexdigest()[:8]`,
			{ out: "['data/b.txt']\n", text: "'ba7816bf'" }],
		],
		'a server in the sandbox, asked asynchronously': [
			[`
import asyncio, http.server, threading, urllib.request
class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(f"hello {self.path}".encode())
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
async def get(path):
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, lambda:
        urllib.request.urlopen(url + path).read().decode())
await asyncio.gather(*(get(f"/{n}") for n in range(3)))`,
			{ text: "['hello /0', 'hello /1', 'hello /2']" }],
			['asyncio.run(get("/again"))', { text: "'hello /again'" }],
			['server.shutdown()', {}],
		],
		'a database': [
			[`
import sqlite3, pandas as pd
db = sqlite3.connect(":memory:")
db.executescript("""CREATE TABLE t(k TEXT, v INT);
INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);""")
pd.read_sql("SELECT k, sum(v) AS total FROM t GROUP BY k", db)`,
			{ text: '   k  total\n0  a      4\n1  b      2',
				data: { columns: ['k', 'total'], index: [0, 1],
					index_names: [null], rows: [['a', 4], ['b', 2]] } }],
		],
		'text and other alphabets': [
			[`
import re, unicodedata, textwrap
print("Grüße, 世界 🌍", len("🌍"))
unicodedata.normalize("NFD", "é").encode()`,
			{ out: 'Grüße, 世界 🌍 1\n', text: "b'e\\xcc\\x81'" }],
			['re.sub(r"(\\w+)@(\\w+)", r"\\2 at \\1", "me@home")',
				{ text: "'home at me'" }],
			['print(textwrap.fill("a bb ccc dddd", 6))',
				{ out: 'a bb\nccc\ndddd\n' }],
		],
		'magics': [
			['%%writefile mine.py\ndef twice(x): return 2 * x\n',
				{ out: 'Writing mine.py\n' }],
			['%run mine.py\ntwice(21)', { text: '42' }],
			['names = !ls *.py\nprint(names)', { out: "['mine.py']\n" }],
			['%%bash\necho "from bash $((1 + 1))"',
				{ out: 'from bash 2\n' }],
			['%env STAGE=test\nimport os; os.environ["STAGE"]',
				{ out: 'env: STAGE=test\n', text: "'test'" }],
			['%cd /tmp', { out: '/tmp\n' }],
			['os.getcwd()', { text: "'/tmp'" }],
		],
		'errors and what comes after': [
			['values = [1, 2]\nvalues[5]',
				{ error: ['IndexError', 'list index out of range'] }],
			['print(values)\nraise ValueError("my own")',
				{ out: '[1, 2]\n', error: ['ValueError', 'my own'] }],
			['input("name? ")', { out: /./, error: ['EOFError', /./] }],
			['sum(values)', { text: '3' }],
		],
	},
	javascript: {
		'arrays and objects': [
			[`const people = [{ name: 'Ann', age: 34 }, { name: 'Bob', age: 29 }];
people.map(({ name }) => name).join()`, { text: "'Ann,Bob'" }],
			['Object.groupBy?.name ?? Object.fromEntries(people.map(' +
				'(p) => [p.name, p.age]))', { json: { Ann: 34, Bob: 29 } }],
			['console.log(people, new Map([["k", new Set([1])]]))',
				{ out: "[ { name: 'Ann', age: 34 }, { name: 'Bob', " +
					"age: 29 } ] Map(1) { 'k' => Set(1) { 1 } }\n" }],
			['const people = []; people.length', { text: '0' }],
		],
		'a server in the sandbox, asked asynchronously': [
			[`import http from 'node:http';
const server = http.createServer((req, res) => res.end('hello ' + req.url));
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const base = 'http://127.0.0.1:' + server.address().port;
await Promise.all([1, 2, 3].map(async (n) =>
	(await fetch(base + '/' + n)).text()))`,
			{ text: "[ 'hello /1', 'hello /2', 'hello /3' ]" }],
			['await fetch(base + "/x", { method: "POST", body: "y" })' +
				'.then((r) => r.status)', { text: '200' }],
			['await new Promise((done) => { server.close(done); ' +
				'server.closeAllConnections(); })', {}],
		],
		'files and streams': [
			[`import { writeFile, readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
await writeFile('lines.txt', 'one\\ntwo\\nthree\\n');
(await readFile('lines.txt', 'utf8')).split('\\n').length`, { text: '4' }],
			[`import { createReadStream } from 'node:fs';
import readline from 'node:readline';
const lines = [];
for await (const line of readline.createInterface(
	{ input: createReadStream('lines.txt') }))
	lines.push(line.toUpperCase());
lines`, { json: ['ONE', 'TWO', 'THREE'] }],
			['path.extname("a/b.tar.gz")', { text: "'.gz'" }],
		],
		'classes and generators': [
			[`class Stack {
	#items = [];
	push(x) { this.#items.push(x); return this; }
	get size() { return this.#items.length; }
	*[Symbol.iterator]() { yield* this.#items; }
}
[...new Stack().push(1).push(2)]`, { json: [1, 2] }],
			[`function* naturals() { for (let n = 1; ; n++) yield n; }
const some = []; for (const n of naturals()) { if (n > 3) break; some.push(n); }
some.reduce((a, b) => a * b)`, { text: '6' }],
			['new Stack().pop()', { error: ['TypeError', /pop is not a function/] }],
			['10n ** 20n', { text: '100000000000000000000n' }],
		],
		'shown as pictures and pages': [
			['display.html("<b>hi</b>"); display.svg("<svg/>"); ' +
				'display.markdown("# t"); 1', { shown: ['html', 'svg',
				'markdown'], text: '1' }],
			['({ _repr_html_: () => "<i>x</i>" })', { html: /^<i>x<\/i>$/ }],
		],
	},
	typescript: {
		'types and enums': [
			[`interface Point { x: number; y: number }
enum Color { Red = 1, Green }
const p: Point = { x: 1, y: 2 };
const length = ({ x, y }: Point): number => Math.hypot(x, y);
console.log(Color[Color.Green], length({ x: 3, y: 4 }));
p satisfies Point`, { out: 'Green 5\n', json: { x: 1, y: 2 } }],
			['const wrong: string = 5 as any; typeof wrong',
				{ text: "'number'" }],
		],
		'generics and async': [
			[`class Cache<K, V> {
	private map = new Map<K, V>();
	constructor(private load: (key: K) => Promise<V>) {}
	async get(key: K): Promise<V> {
		if (!this.map.has(key)) this.map.set(key, await this.load(key));
		return this.map.get(key)!;
	}
}
const cache = new Cache<string, number>(async (s) => s.length);
await cache.get('four')`, { text: '4' }],
			[`async function* ticks<T>(items: T[]): AsyncGenerator<T> {
	for (const item of items) { await null; yield item; }
}
const seen: number[] = [];
for await (const n of ticks([1, 2, 3])) seen.push(n * 2);
seen`, { json: [2, 4, 6] }],
			['let x: number = ;', { error: ['SyntaxError', /Unexpected/] }],
		],
	},
	bash: {
		'files and pipes': [
			['mkdir -p logs; printf "%s\\n" b a c a >logs/x\n' +
				'sort logs/x | uniq -c | sort -rn | head -1',
			{ out: '      2 a\n' }],
			['cd logs; count() { wc -l <"$1"; }', {}],
			['echo "$(count x) lines in ${PWD##*/}"', { out: '4 lines in logs\n' }],
			['grep -q nothing x', { error: ['ExitStatus', 'exit status 1'] }],
			['display html "<p>$(count x)</p>"', { shown: ['html'] }],
		],
	},
};

function pictures(run) {
	return run.results.filter((result) => result.png !== undefined);
}

function same(actual, expected, what) {
	if (expected instanceof RegExp)
		assert.match(actual ?? '', expected, what);
	else
		assert.deepEqual(actual, expected, what);
}

function check(run, expected, code) {
	const { error } = run;
	const value = run.results.find((result) => !result.metadata.display);
	const forms = ['text', 'html', 'json', 'data'];

	same(error && [error.name], expected.error && [expected.error[0]],
		`${code}\n${JSON.stringify(error)}`);
	if (expected.error)
		same(error.message, expected.error[1], code);
	same(run.logs.stdout.join(''), expected.out ?? '', code);
	same(run.logs.stderr.join(''), '', code);
	for (const form of forms)
		if (expected[form] !== undefined)
			same(value?.[form], expected[form], code);
	if (!forms.some((form) => expected[form] !== undefined) &&
	    expected.png === undefined)
		assert.equal(value, undefined, code);
	assert.equal(pictures(run).length, expected.png ?? 0, code);
	if (expected.chart) {
		const [type, part] = expected.chart;
		const { chart } = pictures(run)[0];

		assert.equal(chart.type, type);
		assert.deepEqual(chart, { ...chart, ...part });
	}
	if (expected.shown)
		expected.shown.forEach((form, at) =>
			assert.ok(run.results[at][form] !== undefined, form));
	assert.equal(run.state, 'kept');
}

for (const [language, books] of Object.entries(notebooks))
	describe(language, { timeout: 300_000 }, () => {
		for (const [name, cells] of Object.entries(books))
			test(name, limit, async (t) => {
				const sandbox = stack.sandbox(t);
				const context = await sandbox.createCodeContext({ language });
				let count = 0;

				for (const [code, expected] of cells) {
					const run = await sandbox.runCode(code, { context });

					check(run, expected, code);
					assert.equal(run.executionCount, ++count);
				}
			});
	});
