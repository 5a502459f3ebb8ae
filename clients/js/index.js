/**
 * Client for Warren. One file for each noun under lib/; this one only says
 * what is public.
 */
export {
	deleteBackup, getBackup, getSandbox, listBackups, listSandboxes, Sandbox,
} from './lib/sandbox.js';
export { parseSSEStream } from './lib/sse.js';
export { SandboxError } from './lib/error.js';
export { Process } from './lib/process.js';
export { Session } from './lib/session.js';
export { Execution, Result } from './lib/code.js';
