// The same claims in each language's words. A new language adds a column. What
// it cannot say at all is null: the case is skipped.
const js = {
	one: '1', two: '1 + 1',
	hello: 'console.log("Hello World")',
	noNewline: 'process.stdout.write("x")',
	slow: `for (let i = 0; i < 3; i++) {
		console.log(i);
		await new Promise((done) => setTimeout(done, 300));
	}`,
	partial: `process.stdout.write(".");
		await new Promise((done) => setTimeout(done, 500));
		process.stdout.write("!")`,
	both: 'console.log("out"); console.error("err")',
	order: `const { execSync } = require("node:child_process");
		console.log("a");
		execSync("echo b", { stdio: "inherit" });
		require("node:fs").writeSync(1, "c\\n");
		display("shown");
		console.log("d");
		42`,
	large: 'console.log("x".repeat(3000000)); display("y".repeat(500000))',
	set: 'let kept = 41', get: 'kept + 1', other: 'kept',
	notFound: { ename: 'ReferenceError', evalue: /not defined/ },
	fail: 'null.x', failed: 'TypeError',
	syntax: 'let x = = 1',
	asyncValue: 'Promise.resolve(40).then((n) => n + 2)',
	topAwait: 'const waited = await Promise.resolve(41); waited + 1',
	nothing: 'undefined',
	data: '({ a: 1, b: [NaN, null, "\\ud800"], c: { d: true } })',
	dataJson: { a: 1, b: [null, null, '\ufffd'], c: { d: true } },
	cycle: 'const o = {}; o.o = o; o',
	html: 'display.html("<b>x</b>")',
	png: 'display.png(Buffer.from([137, 80, 78, 71]))',
	brokenRepr: '({ _repr_html_() { throw new TypeError("no"); } })',
	spin: 'while (true);',
	spinCatching: 'while (true) { try { while (true); } catch {} }',
	wait: 'await new Promise((done) => setTimeout(done, 60000))',
	displaySpin: 'while (true) display(1)',
	interrupted: 'Interrupted',
	env: 'process.env.WARREN_X ?? "none"', cwd: 'process.cwd()',
	setEnv: 'process.env.WARREN_X = "mine"', setCwd: 'process.chdir("/tmp")',
	exit: 'process.exit(7)',
	shell: (command) => `require("node:child_process").execSync(` +
		`${JSON.stringify(command)}, { stdio: "inherit" })`,
	readTwo: `const got = [];
		for await (const line of require("node:readline")
			.createInterface({ input: process.stdin }))
			got.push(line);
		console.log(got[0], got[1]); console.log(got[2] ?? "end")`,
	readAny: 'console.log(require("node:fs").readFileSync(0, "utf8") || ' +
		'"end")',
	badText: '"a\\ud800b\\0c"',
	throwBadText: 'throw new Error("a\\ud800b\\0c")',
	quoted: (text) => `'${text}'`,
	module: ['warren_mod.cjs', 'exports.x = 6 * 7',
		'require("./warren_mod.cjs").x'],
	shadow: ['json.js', 'throw new Error("shadowed")', '1 + 1'],
};

export const words = {
	javascript: js,
	typescript: { ...js,
		set: 'let kept: number = 41',
		get: '(kept as number) + 1',
		nothing: 'interface Nothing { a: number }' },
	python: {
		one: '1', two: '1 + 1',
		hello: 'print("Hello World")',
		noNewline: 'print("x", end="")',
		slow: 'import time\nfor i in range(3):\n print(i)\n time.sleep(0.3)',
		partial: 'import time; print(".", end=""); time.sleep(0.5); ' +
			'print("!", end="")',
		both: 'import sys\nprint("out"); print("err", file=sys.stderr)',
		order: `
			import os, subprocess, ctypes
			print("a")
			os.system("echo b")
			os.write(1, b"c\\n")
			display("shown")
			print("d")
			42`,
		large: 'print("x" * 3000000)\ndisplay("y" * 500000)',
		set: 'kept = 41', get: 'kept + 1', other: 'kept',
		notFound: { ename: 'NameError', evalue: /not defined/ },
		fail: '1 / 0', failed: 'ZeroDivisionError',
		syntax: 'x = = 1',
		asyncValue: 'import asyncio\nawait asyncio.sleep(0, 42)',
		topAwait: 'import asyncio\nx = await asyncio.sleep(0.01, 41)\nx + 1',
		nothing: 'None',
		data: '{"a": 1, "b": [float("nan"), None, "\\ud800"], ' +
			'"c": {"d": True}}',
		dataJson: { a: 1, b: [null, null, '\ufffd'], c: { d: true } },
		cycle: 'o = {}; o["o"] = o; o',
		html: 'class H:\n def _repr_html_(self): return "<b>x</b>"\n' +
			'display(H())',
		png: 'class P:\n def _repr_png_(self): return b"\\x89PNG"\n' +
			'display(P())',
		brokenRepr: 'class B:\n def __repr__(self): raise TypeError("no")\n' +
			'B()',
		spin: 'while True: pass',
		spinCatching: 'n = 0\nwhile n < 3:\n try:\n  while True: pass\n' +
			' except ValueError: n += 1',
		wait: 'import asyncio; await asyncio.sleep(60)',
		displaySpin: 'while True: display(1)',
		interrupted: 'KeyboardInterrupt',
		env: 'import os; os.environ.get("WARREN_X", "none")',
		cwd: 'import os; os.getcwd()',
		setEnv: 'os.environ["WARREN_X"] = "mine"',
		setCwd: 'os.chdir("/tmp")',
		exit: 'import os; os._exit(7)',
		shell: (command) => `import os; os.system(${JSON.stringify(command)})`,
		readTwo: 'print(input(), input())\ntry:\n print(input())\n' +
			'except EOFError:\n print("end")',
		readAny: 'try:\n print(input())\nexcept EOFError:\n print("end")',
		badText: 'class T:\n def __repr__(self): return "a\\ud800b\\0c"\nT()',
		throwBadText: 'raise ValueError("a\\ud800b\\0c")',
		quoted: (text) => `'${text}'`,
		module: ['warren_mod.py', 'x = 6 * 7',
			'import warren_mod; warren_mod.x'],
		shadow: ['json.py', 'raise SystemError("shadowed")', '[1, 2]'],
	},
	bash: {
		printed: true, /* no values: what a cell says of one it prints */
		one: ':', two: 'echo $((1 + 1))',
		hello: 'echo "Hello World"',
		noNewline: 'printf x',
		slow: 'for i in 0 1 2; do\n echo $i\n sleep 0.3\ndone',
		partial: 'printf .; sleep 0.5; printf !',
		both: 'echo out; echo err >&2',
		order: 'echo a\n/bin/sh -c "echo b"\nprintf "c\\n"\n' +
			'display text shown\necho d\ndisplay text 42',
		large: 'head -c 3000000 /dev/zero | tr "\\0" x; echo\n' +
			'head -c 500002 /dev/zero | tr "\\0" y | display text',
		set: 'kept=41', get: 'echo $((kept + 1))',
		other: 'echo "${kept?}"',
		notFound: { ename: 'ExitStatus', evalue: /exit status 1/ },
		fail: 'true\nfalse', failed: 'ExitStatus',
		syntax: 'x = ( =',
		asyncValue: 'x=$(sleep 0.01; echo 42)\necho $x',
		topAwait: 'sleep 0.01 & wait $!; echo 42',
		nothing: ':',
		data: null, cycle: null, brokenRepr: null,
		html: 'display html "<b>x</b>"',
		png: 'printf "\\x89PNG" | display png',
		spin: 'while :; do :; done',
		spinCatching: 'until false; do while :; do :; done || :; done',
		wait: 'sleep 60',
		displaySpin: 'while :; do display text 1; done',
		interrupted: 'Interrupted',
		env: 'echo "${WARREN_X-none}"', cwd: 'pwd',
		setEnv: 'export WARREN_X=mine', setCwd: 'cd /tmp',
		exit: 'exit 7',
		shell: (command) => command,
		readTwo: 'read -r a; read -r b; echo "$a $b"\n' +
			'read -r c && echo "$c" || echo end',
		readAny: 'read -r a && echo "$a" || echo end',
		badText: 'printf "a\\xed\\xa0\\x80b\\xc0c"',
		throwBadText: null,
		quoted: (text) => text,
		module: ['warren_mod.sh', 'x=42', '. ./warren_mod.sh; echo $x'],
		shadow: ['source', 'exit 1', 'echo 1'],
	},
};
