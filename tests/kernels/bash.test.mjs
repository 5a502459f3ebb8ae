// Bash as a language: what is its own beside the conformance cases.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { INTERRUPT, Kernel, sleep, spin } from './harness.mjs';

const ROUNDS = Number(process.env.WARREN_ROUNDS ?? 24);

describe('bash', { timeout: 240_000 }, () => {
	let kernel;
	const fresh = async () => {
		await kernel?.stop();
		kernel = await Kernel.start('bash');
	};
	const out = async (code, options) => {
		const run = await kernel.run(code, options);
		assert.equal(run.error, undefined, JSON.stringify(run));
		return run.stdout;
	};
	before(fresh);
	after(() => kernel.stop());

	it('keeps variables, arrays, functions, options, aliases and the ' +
		'directory', async () => {
		await out('cd /usr; n=1; a=(x "y z"); declare -A m=([k]=v)\n' +
			'f() { local n=5; echo "f$n"; }; shopt -s nullglob\n' +
			'alias hi="echo hello"; set -o pipefail; umask 027');
		assert.equal(await out('f; echo "$PWD $n ${a[1]} ${m[k]}"; hi\n' +
			'shopt -q nullglob && echo on; umask; set +o pipefail'),
		'f5\n/usr 1 y z v\nhello\non\n0027\n');
	});

	it('tells a failure with its status, line and command', async () => {
		const { error, stdout } = await kernel.run(
			'echo a\n\nls /nowhere 2>&1 >/dev/null | cat\n(exit 3)');
		assert.match(stdout, /^a\nls: .*nowhere.*\n$/);
		assert.equal(error.ename, 'ExitStatus');
		assert.equal(error.evalue, 'exit status 3');
		assert.match(error.traceback.join('\n'),
			/^cell \d+, line 4:\n {2}\( exit 3 \)\nExitStatus: /);
		assert.equal((await kernel.run('kill -9 $BASHPID & wait $!'))
			.error.evalue, 'exit status 137 (SIGKILL)');
	});

	it('runs nothing of a cell that cannot be parsed', async () => {
		const run = await kernel.run('echo before\nif true; then\n');
		assert.equal(run.error.ename, 'SyntaxError');
		assert.match(run.error.evalue, /^line \d+: syntax error/);
		assert.equal(run.stdout + run.stderr, '');
	});

	it('a failure under set -e ends the cell, not the shell', async () => {
		await out('kept=1');
		const run = await kernel.run('set -euo pipefail\n' +
			'f() { false; echo not; }\necho yes\nf\necho nor');
		assert.equal(run.stdout, 'yes\n');
		assert.equal(run.stderr, '');
		assert.equal(run.error.evalue, 'exit status 1');
		assert.match(run.error.traceback[0], /line 2:$/);
		assert.equal((await kernel.run('echo e >&2')).stderr, 'e\n');
		const sub = await kernel.run('(false; echo not); echo nor');
		assert.equal(sub.stdout, '');
		assert.equal(sub.lost, undefined);
		await out('set +e');
		const unset = await kernel.run('echo "$no_such_name"\necho not');
		assert.equal(unset.stdout, '');
		assert.match(unset.stderr, /no_such_name: unbound variable/);
		assert.equal(unset.error.ename, 'ExitStatus');
		assert.equal(await out('set +u; echo $kept'), '1\n');
	});

	it('both at once end the shell, as in any bash', async () => {
		const run = await kernel.run('set -eu\necho "$no_such_name"');
		assert.match(run.stderr, /no_such_name: unbound variable/);
		assert.equal(run.lost, true);
		assert.equal((await kernel.exited).code, 1);
		await fresh();
	});

	it('takes heredocs, options that change the syntax, and no newline',
		async () => {
			assert.equal(await out('cat <<END\nx y\nEND'), 'x y\n');
			assert.equal(await out('shopt -s extglob\n' +
				'x=aab; echo ${x/+(a)/-}; shopt -u extglob'), '-b\n');
			assert.equal(await out('echo "hi!" # !!'), 'hi!\n');
			assert.equal(await out('echo a \\'), 'a\n');
			assert.equal(await out('  # only this'), '');
		});

	it('reads an end where nothing is supplied', async () => {
		const run = await kernel.run('read -r x; echo "$? [$x]"; cat');
		assert.equal(run.stdout, '1 []\n');
	});

	it('shows each kind once, and refuses what it is not', async () => {
		const kinds = { text: 'text/plain', html: 'text/html',
			markdown: 'text/markdown', svg: 'image/svg+xml',
			latex: 'text/latex', javascript: 'application/javascript' };
		for (const [kind, mime] of Object.entries(kinds)) {
			const run = await kernel.run(`display ${kind} a "b  c"`);
			assert.equal(run.results.length, 1);
			assert.equal(run.results[0].mime[mime], 'a b  c');
		}
		const json = (await kernel.run(
			`display json '{"a": [1, null]}'`)).results[0].mime;
		assert.deepEqual(json['application/json'], { a: [1, null] });
		const file = (await kernel.run(
			'printf "\\x89PNG" >f; display png f')).results[0].mime;
		assert.equal(file['image/png'], 'iVBORw==');
		for (const bad of ['display json {', 'display nothing x',
			'display png /nowhere', 'display']) {
			const run = await kernel.run(bad);
			assert.equal(run.results.length, 0, bad);
			assert.notEqual(run.stderr, '', bad);
			assert.equal(run.error.ename, 'ExitStatus', bad);
		}
	});

	it('what a job shows after its run is no result of the next',
		async () => {
			await out('(sleep 0.3; display text late) &');
			const run = await kernel.run('sleep 0.6; echo here');
			assert.equal(run.results.length, 0);
			assert.match(run.stdout, /late\n/);
		});

	it('says nothing of jobs that start and end', async () => {
		const run = await kernel.run('sleep 0.01 & true & wait');
		assert.equal(run.stdout + run.stderr, '');
		const next = await kernel.run(':');
		assert.equal(next.stdout + next.stderr + kernel.idle, '');
	});

	it('an interrupt ends all of a cell and what it waits for', async () => {
		await out('kept=2');
		for (const code of ['sleep 60\necho after', 'sleep 60 | sleep 60',
			'x=$(sleep 60)\necho after', 'while sleep 0.01; do :; done',
			'f() { f2; }; f2() { sleep 60; }; f; echo after',
			'wait_for() { sleep 3 & wait; }; wait_for; echo after',
			'setsid -w sleep 60\necho after',
			'shopt -s extglob\necho !(x) >/dev/null\nsleep 60\necho after',
		]) {
			const going = kernel.run(code);
			await sleep(200);
			kernel.interrupt();
			const run = await going;
			assert.equal(run.error?.ename, 'Interrupted', code);
			assert.equal(run.stdout, '', code);
			assert.equal(await out('echo $kept'), '2\n');
		}
	});

	it('an interrupt reaches what has a process group of its own', async () => {
		/* bash goes on after a program that ends in its own way */
		const going = kernel.run('timeout 60 sleep 60; echo after');
		await sleep(200);
		kernel.interrupt();
		const run = await going;
		assert.ok(!run.lost);
		assert.ok(run.events.at(-1).at < 20000);
	});

	it('a cell that handles the interrupt goes on', async () => {
		const going = kernel.run('trap "echo caught; c=1" INT; echo on\n' +
			'until test -n "$c"; do sleep 0.1; done; echo end; trap - INT');
		await kernel.begun();
		kernel.interrupt();
		const run = await going;
		assert.equal(run.error, undefined);
		assert.match(run.stdout, /^on\n(caught\n)+end\n$/);
	});

	/* While bash reads a cell, or comes back from a SIGINT, one would end it:
	 * moments of microseconds, so many are tried. */
	it('interrupts at any moment, and many of them, leave the shell alive',
		async () => {
			await out('kept=3');
			for (let i = 0; i < 10 * ROUNDS; i++) {
				const going = kernel.run(['echo', 'sleep 60', ':; :; echo x',
					'x=$(/bin/true); sleep 60'][i % 4]);

				spin(Math.random() * 2);
				kernel.write(INTERRUPT, kernel.run_.tag);
				for (let n = i % 5; n >= 0; n--) {
					kernel.signal('SIGINT');
					spin(Math.random() / 5);
				}
				const run = await going;
				assert.ok(!run.lost, `turn ${i}`);
				assert.equal(run.dones, 1);
				assert.ok([undefined, 'Interrupted'].includes(
					run.error?.ename));
			}
			assert.equal(await out('echo $kept'), '3\n');
		});

	it('a variable of one run is what it was before, attributes too',
		async () => {
			await out('declare -i N=5; export P=old');
			assert.equal(await out('echo "$N $P $Q"',
				{ env: { N: '7', P: `it's "new"\n$x`, Q: 'q' } }),
			`7 it's "new"\n$x q\n`);
			assert.equal(await out('N=N+1; echo "$N $P ${Q-none}"'),
				'6 old none\n');
		});
});
