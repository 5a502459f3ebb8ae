/**
 * A tree as one knows it who only reads what a watch tells: paths to
 * `{dir, dirty}`, where dirty files are to be read (again).
 */
export class Mirror {
	#tree = new Map();
	#moved = new Map();
	#top;

	constructor(top) {
		this.#top = top;
	}

	/** Starts anew with what is there: `[[path, isDirectory], …]`. */
	reset(entries) {
		this.#tree = new Map(entries.map(([path, dir]) =>
			[path, { dir, dirty: true }]));
		this.#moved.clear();
	}

	/** Everything at and below ${path}, taken out; paths from there. */
	#take(path) {
		const taken = [];

		for (const [at, entry] of [...this.#tree])
			if (at === path || at.startsWith(`${path}/`)) {
				taken.push([at.slice(path.length), entry]);
				this.#tree.delete(at);
			}
		return taken;
	}

	#put(path, isDirectory) {
		const known = this.#tree.get(path);

		if (known?.dir !== isDirectory)
			this.#take(path);
		this.#tree.set(path, { dir: isDirectory, dirty: true });
	}

	apply({ eventType, path: full, isDirectory, cookie }) {
		const path = full.slice(this.#top.length + 1);

		if (path === '')
			return;
		if (eventType === 'delete') {
			this.#take(path);
		} else if (eventType === 'move_from') {
			this.#moved.set(cookie, this.#take(path));
		} else if (eventType === 'move_to') {
			const moved = this.#moved.get(cookie);

			this.#take(path);
			this.#moved.delete(cookie);
			for (const [below, entry] of moved ?? [])
				this.#tree.set(path + below, entry);
			if (!this.#tree.has(path))
				this.#put(path, isDirectory);
		} else {
			this.#put(path, isDirectory);
		}
	}

	has(path) {
		return this.#tree.has(path);
	}

	get paths() {
		return [...this.#tree].map(([path, { dir }]) =>
			path + (dir ? '/' : '')).sort();
	}

	get dirty() {
		return [...this.#tree].filter(([, entry]) =>
			!entry.dir && entry.dirty).map(([path]) => path);
	}

	/** The file at ${path} is as ${text} says. */
	read(path, text) {
		Object.assign(this.#tree.get(path), { dirty: false, text });
	}

	get texts() {
		return Object.fromEntries([...this.#tree].sort()
			.filter(([, { dir }]) => !dir)
			.map(([path, { text }]) => [path, text]));
	}
}
