/**
 * CLAIMS.md names cases that are there.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const text = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');

/** The source, with its long names in one piece again. */
function source(file) {
	return text(`${file}.test.mjs`).replace(/'\s*\+\s*'/g, '')
		.replaceAll('\\\'', '\'');
}

const quoted = (name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

test('each claim has its case', () => {
	const named = [...text('CLAIMS.md')
		.matchAll(/`((?:wire\/)?[a-z_]+): ([^`]+)`/g)];
	const missing = named.filter(([, file, name]) =>
		!new RegExp(`test\\(\\s*['\`]${quoted(name)}`)
			.test(source(file)))
		.map(([, file, name]) => `${file}: ${name}`);

	assert.ok(named.length > 150);
	assert.deepEqual(missing, []);
});
