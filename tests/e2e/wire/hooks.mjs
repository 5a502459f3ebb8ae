/**
 * Resolves the client's name to where it is installed, and what the client
 * imports from its own platform to runtime/. Its modules are written for a
 * bundler: a relative import may lack its ".js".
 */
let parentURL;

export function initialize(data) {
	({ parentURL } = data);
}

export async function resolve(specifier, context, next) {
	if (specifier.startsWith('cloudflare:')) {
		const name = specifier.slice('cloudflare:'.length);
		return {
			url: new URL(`runtime/${name}.mjs`, import.meta.url).href,
			shortCircuit: true,
		};
	}
	if (specifier === '@cloudflare/sandbox')
		return next(specifier, { ...context, parentURL });
	try {
		return await next(specifier, context);
	} catch (error) {
		if (error.code !== 'ERR_MODULE_NOT_FOUND' ||
			!specifier.startsWith('.'))
			throw error;
		return next(`${specifier}.js`, context);
	}
}
