/** Where the service is and who calls. */
export interface ConnectOptions {
	/** Default: WARREN_URL, else http://localhost:8080. */
	url?: string;
	/** Default: WARREN_API_KEY. */
	apiKey?: string;
	/** Default: the global one. */
	fetch?: typeof fetch;
}

export type EndReason =
	| 'exited' | 'signalled' | 'timed_out' | 'out_of_memory'
	| 'output_limit' | 'disk_limit' | 'killed' | 'interrupted'
	| 'sandbox_gone';

/** A limit that an execution ran into. */
export interface LimitHit {
	name: 'memoryBytes' | 'pids' | 'diskBytes' | 'inodes' | 'timeoutMs'
		| 'wallMs' | 'outputBytes';
	limit: number;
	/** What was used of it, where that can be told. */
	used?: number;
	/** How often it was hit in the sandbox while the execution ran. */
	hits: number;
}

export type Environment = Record<string, string | null | undefined>;
export type OutputStream = 'stdout' | 'stderr';
export type EventStream = ReadableStream<Uint8Array>;

/* Commands */

export interface ExecOptions {
	/** Milliseconds; then all that the command started is killed. */
	timeout?: number;
	env?: Environment;
	/** Default: /workspace. */
	cwd?: string;
	/** What the command reads; else its input is empty. */
	stdin?: string | Uint8Array;
	/** `base64` gives the exact bytes of stdout and stderr. */
	encoding?: 'utf-8' | 'base64';
	signal?: AbortSignal;
	/** What happens to the command when the connection ends. */
	onDisconnect?: 'kill' | 'keep';
	/** When it prints more than `limits.outputBytes`: what is over is
	 * counted, not kept (`truncate`, the default), or it is ended. */
	onOutputLimit?: 'truncate' | 'end';
	/** Default: that of the session object, or "default". */
	sessionId?: string;
	/** A call that is sent again under the same key runs once. */
	idempotencyKey?: string;
}

export interface LiveExecOptions extends ExecOptions {
	/** Take output as it comes. */
	stream?: boolean;
	onOutput?: (stream: OutputStream, data: string) => void;
	onComplete?: (result: ExecResult) => void;
	onError?: (error: Error) => void;
}

export interface ExecResult {
	success: boolean;
	exitCode: number;
	stdout: string;
	stderr: string;
	command: string;
	duration: number;
	timestamp: string;
	reason?: EndReason;
	durationMs?: number;
	truncated?: boolean;
	stdoutBytes?: number;
	stderrBytes?: number;
	limits?: LimitHit[];
	executionId?: string;
	sessionId?: string;
}

export type ExecEvent =
	| { type: 'start'; command: string; executionId?: string;
	    timestamp: string }
	| { type: OutputStream; data: string; timestamp: string }
	| { type: 'gap'; from: number; to: number; dropped: number;
	    timestamp: string }
	| { type: 'complete'; exitCode: number; reason: EndReason;
	    limits?: LimitHit[]; timestamp: string }
	| { type: 'error'; error: string; reason: EndReason;
	    timestamp: string };

/* Processes */

export type ProcessStatus =
	| 'starting' | 'running' | 'completed' | 'failed' | 'killed' | 'error';

export interface ProcessOptions {
	processId?: string;
	timeout?: number;
	env?: Environment;
	cwd?: string;
	encoding?: string;
	/** Forget it when it has ended. */
	autoCleanup?: boolean;
	/** Its input stays open for writeStdin(). */
	openStdin?: boolean;
	/** Whether it is ended when it prints more than
	 * `limits.outputBytes`, and not before. */
	onOutputLimit?: 'truncate' | 'end';
	sessionId?: string;
	idempotencyKey?: string;
	signal?: AbortSignal;
	onStart?: (process: Process) => void;
	onOutput?: (stream: OutputStream, data: string) => void;
	onExit?: (exitCode: number | null) => void;
	onError?: (error: Error) => void;
}

export interface ProcessLogs {
	processId: string;
	stdout: string;
	stderr: string;
	/** The log lacks a part of the output. */
	truncated: boolean;
	droppedBytes: number;
}

export interface KillOptions {
	/** Milliseconds between the signal and SIGKILL. */
	graceMs?: number;
}

export interface WaitForPortOptions {
	timeout?: number;
	/** Default: http. */
	mode?: 'http' | 'tcp';
	path?: string;
	/** Default: 200 to 399. */
	status?: number | { min: number; max: number };
	/** Milliseconds between two looks. */
	interval?: number;
}

export class Process {
	private constructor();
	readonly id: string;
	readonly pid: number;
	readonly command: string;
	status: ProcessStatus;
	readonly startTime: Date;
	endTime?: Date;
	exitCode?: number;
	reason?: EndReason;
	limits?: LimitHit[];
	sessionId?: string;
	/** Why it did not start. */
	error?: string;
	/** Of what it printed, what its log has not any more. */
	droppedBytes?: number;
	kill(signal?: string, options?: KillOptions): Promise<void>;
	getStatus(): Promise<ProcessStatus>;
	getLogs(): Promise<ProcessLogs>;
	waitForExit(timeout?: number):
		Promise<{ exitCode: number; reason?: EndReason }>;
	waitForLog(pattern: string | RegExp, timeout?: number):
		Promise<{ line: string; stream: OutputStream;
			  match?: (string | null)[] }>;
	waitForPort(port: number, options?: WaitForPortOptions):
		Promise<void>;
	writeStdin(data: string | Uint8Array, options?: { close?: boolean }):
		Promise<void>;
	closeStdin(): Promise<void>;
	signal(signal: string | number): Promise<void>;
}

export type LogEvent =
	| { type: 'process_info'; processId: string; command: string;
	    status: ProcessStatus }
	| { type: OutputStream; data: string; processId: string;
	    timestamp: string }
	| { type: 'exit'; processId: string; exitCode: number;
	    reason: EndReason; limits?: LimitHit[]; data: string };

/* Code */

export type Language = 'python' | 'javascript' | 'typescript' | 'bash';

export interface ContextOptions {
	/** Default: python. */
	language?: Language;
	/** Default: /workspace. */
	cwd?: string;
	envVars?: Record<string, string>;
	timeout?: number;
	signal?: AbortSignal;
}

export interface CodeContext {
	id: string;
	language: string;
	cwd: string;
	createdAt?: Date;
	lastUsed?: Date;
}

export interface OutputMessage {
	text: string;
	/** Milliseconds since 1970. */
	timestamp: number;
}

export interface ExecutionError {
	name: string;
	message: string;
	traceback: string[];
}

export interface Axis {
	label?: string;
	unit?: string;
	scale?: string;
	ticks?: unknown[];
}

export interface Chart {
	type: string;
	title?: string;
	x?: Axis;
	y?: Axis;
	elements: unknown[];
}

export interface TableData {
	columns: unknown[];
	index: unknown[];
	index_names: unknown[];
	rows: unknown[][];
}

export class Result {
	private constructor();
	text?: string;
	html?: string;
	markdown?: string;
	svg?: string;
	/** Base64, as jpeg and pdf. */
	png?: string;
	jpeg?: string;
	pdf?: string;
	latex?: string;
	json?: unknown;
	javascript?: string;
	chart?: Chart;
	data?: TableData;
	metadata?: Record<string, unknown>;
	/** Names of the forms that it has. */
	formats(): string[];
}

export class Execution {
	private constructor();
	readonly code: string;
	readonly logs: { stdout: string[]; stderr: string[] };
	readonly results: Result[];
	error?: ExecutionError;
	executionCount?: number;
	reason?: EndReason;
	limits?: LimitHit[];
	/** Whether the context still has its variables. */
	state?: 'kept' | 'lost';
}

export interface RunCodeStreamOptions {
	/** Default: one of the language, made by the first call. */
	context?: CodeContext | string;
	/** Default: python. */
	language?: Language;
	/** Of this run alone. */
	cwd?: string;
	timeout?: number;
	envVars?: Record<string, string>;
	/** What it may read by input(), process.stdin, read: at most 1 MiB. */
	stdin?: string;
	signal?: AbortSignal;
	onDisconnect?: 'kill' | 'keep';
	/** A run that is sent again, in the same context, runs once. */
	idempotencyKey?: string;
}

export interface RunCodeOptions extends RunCodeStreamOptions {
	onStdout?: (output: OutputMessage) => void | Promise<void>;
	onStderr?: (output: OutputMessage) => void | Promise<void>;
	onResult?: (result: Result) => void | Promise<void>;
	onError?: (error: ExecutionError) => void | Promise<void>;
}

export type CodeEvent =
	| { type: OutputStream; text: string }
	| { type: 'result'; [form: string]: unknown }
	| { type: 'error'; ename: string; evalue: string;
	    traceback: string[] }
	| { type: 'execution_complete'; execution_count: number;
	    reason: EndReason; state: 'kept' | 'lost';
	    limits?: LimitHit[] };

/* Files, git, ports */

export interface FileAnswer {
	success: boolean;
	path: string;
	timestamp: string;
}

export type FileWatchEventType =
	'create' | 'modify' | 'delete' | 'move_from' | 'move_to' | 'attrib';

/**
 * Patterns: `*` and `?` in one name, `**` for any directories. Without a slash
 * one is tried on every name, else on the path from the watched directory.
 */
export interface WatchOptions {
	/** Default: true. */
	recursive?: boolean;
	/** Default: all. */
	events?: FileWatchEventType[];
	/** Only these; not together with exclude. */
	include?: string[];
	/** Default: .git, node_modules, .DS_Store. */
	exclude?: string[];
	sessionId?: string;
	signal?: AbortSignal;
}

/** What parseSSEStream gives of watch(); the last is stopped or error. */
export type FileWatchSSEEvent =
	| { type: 'watching'; path: string; watchId: string }
	| {
		type: 'event';
		eventType: FileWatchEventType;
		path: string;
		/** The exact bytes of a path that is no UTF-8. */
		pathBase64?: string;
		isDirectory: boolean;
		/** The same in both halves of a move. */
		cookie?: number;
		timestamp: string;
	}
	| { type: 'resync'; reason: 'overflow'; timestamp: string }
	| { type: 'error'; error: string; timestamp: string }
	| { type: 'stopped'; reason: string; timestamp: string };

export interface CheckChangesResult {
	success: true;
	status: 'unchanged' | 'changed' | 'resync';
	/** Of resync only. */
	reason?: 'expired' | 'restarted';
	/** For the next check's `since`. */
	version: string;
	timestamp: string;
}

export interface ReadFileResult extends FileAnswer {
	content: string;
	encoding: 'utf-8' | 'base64';
	isBinary: boolean;
	mimeType: string;
	size: number;
}

export type FileEvent =
	| { type: 'metadata'; mimeType: string; size: number;
	    isBinary: boolean; encoding: 'utf-8' | 'base64' }
	| { type: 'chunk'; data: string }
	| { type: 'complete'; bytesRead: number }
	| { type: 'error'; error: string };

export interface FileInfo {
	name: string;
	absolutePath: string;
	relativePath: string;
	type: 'file' | 'directory' | 'symlink' | 'other';
	size: number;
	modifiedAt: string;
	mode: string;
	permissions: {
		readable: boolean;
		writable: boolean;
		executable: boolean;
	};
}

export type GitAuth =
	| { type: 'token'; token: string; username?: string }
	| { type: 'basic'; username: string; password: string }
	| { type: 'ssh'; privateKey: string; passphrase?: string;
	    username?: string };

export interface GitProgress {
	phase: 'receiving' | 'resolving' | 'checkout' | 'sending';
	objects: number;
	totalObjects: number;
	bytes: number;
	files: number;
	totalFiles: number;
	timestamp: string;
}

export interface GitRemoteOptions {
	/** For the host of the URL, and no other. */
	auth?: GitAuth;
	/** For other hosts, as those of submodules: each to its own. */
	credentials?: (GitAuth & { host: string })[];
	/** SSH hosts that are believed: lines as in ~/.ssh/known_hosts … */
	knownHosts?: string;
	/** … or as `ssh-keygen -l` shows their keys: `SHA256:…`. */
	hostKeyFingerprints?: string[];
	onProgress?: (progress: GitProgress) => void;
	timeoutMs?: number;
	signal?: AbortSignal;
}

export interface GitCheckoutOptions extends GitRemoteOptions {
	/** A branch or a tag; default: what the remote's HEAD is on. */
	branch?: string;
	/** A commit's whole id: HEAD is on no branch then. */
	commit?: string;
	/** Default: the repository's name, in /workspace. */
	targetDir?: string;
	depth?: number;
	/** Default: only with a depth. */
	singleBranch?: boolean;
	submodules?: boolean;
	/** Refused: files of Git LFS are cloned as pointers. */
	lfs?: false;
	cloneTimeoutMs?: number;
}

export interface GitCheckoutResult {
	success: boolean;
	repoUrl: string;
	branch: string;
	targetDir: string;
	/** None yet in an empty repository. */
	commit?: string;
	engine: 'libgit2' | 'git';
	lfsPointers?: true;
	timestamp: string;
}

export interface GitOptions {
	/** The repository; default: the session's directory. */
	path?: string;
	timeoutMs?: number;
	signal?: AbortSignal;
}

export interface GitPerson {
	name: string;
	email: string;
}

/** With credentials `repoUrl` is needed: settings do not say who gets them. */
export interface GitPullOptions extends GitRemoteOptions {
	path?: string;
	repoUrl?: string;
	remote?: string;
	/** The remote's branch. */
	branch?: string;
	/** Of a merge; default: the repository's user.name and user.email. */
	author?: GitPerson;
	depth?: number;
	ffOnly?: boolean;
	submodules?: boolean;
}

export interface GitPushOptions extends GitRemoteOptions {
	path?: string;
	repoUrl?: string;
	remote?: string;
	branch?: string;
	remoteBranch?: string;
	force?: boolean;
	setUpstream?: boolean;
}

export interface GitHead {
	success: boolean;
	path: string;
	/** null: on none. */
	branch: string | null;
	/** null: none yet. */
	commit: string | null;
	timestamp: string;
}

export interface GitPullResult {
	success: boolean;
	path: string;
	repoUrl: string;
	remote: string;
	remoteBranch: string;
	branch: string;
	result: 'up-to-date' | 'fast-forward' | 'merge';
	before?: string;
	commit: string;
	timestamp: string;
}

export interface GitPushResult extends Omit<GitPullResult, 'result'> {
	result: 'up-to-date' | 'pushed' | 'created';
}

export type GitChange = 'unmodified' | 'added' | 'modified' | 'deleted' |
	'renamed' | 'typechange' | 'untracked' | 'ignored';

export interface GitStatusFile {
	path: string;
	pathBase64?: string;
	oldPath?: string;
	oldPathBase64?: string;
	index: GitChange;
	worktree: GitChange;
	conflicted: boolean;
}

export interface GitStatus extends GitHead {
	detached: boolean;
	upstream?: string;
	ahead?: number;
	behind?: number;
	operation?: 'merge' | 'rebase' | 'revert' | 'cherry-pick' | 'bisect';
	clean: boolean;
	files: GitStatusFile[];
	truncated: boolean;
}

export interface GitCommitInfo {
	id: string;
	parents: string[];
	author: GitPerson & { date: string };
	committer: GitPerson & { date: string };
	subject: string;
	message: string;
}

export interface GitLog extends GitHead {
	commits: GitCommitInfo[];
	truncated: boolean;
}

export interface GitDiffFile {
	path: string;
	pathBase64?: string;
	oldPath?: string;
	oldPathBase64?: string;
	status: GitChange;
	additions: number;
	deletions: number;
	binary: boolean;
}

export interface GitDiff extends GitHead {
	files: GitDiffFile[];
	additions: number;
	deletions: number;
	truncated: boolean;
	patch?: string;
	patchTruncated?: boolean;
}

export interface GitBranch {
	name: string;
	current: boolean;
	remote: boolean;
	commit: string;
	subject: string;
	upstream?: string;
	ahead?: number;
	behind?: number;
}

export interface GitBranches extends GitHead {
	branches: GitBranch[];
	truncated: boolean;
}

export interface GitBranchResult extends GitHead {
	name: string;
	created: boolean;
}

export interface GitCommitResult extends GitHead {
	commit: string;
	files: string[];
	truncated: boolean;
}

export interface ExposedPort {
	url: string;
	/** By path, where the operator has switched that on. */
	pathUrl?: string;
	port: number;
	name?: string;
	token: string;
	access: 'public' | 'private';
	keepHost: boolean;
	waitMs: number;
	expiresAt?: string;
	/* Of getExposedPorts(): by namePort(), and what it was asked for. */
	names?: ExposedPort[];
	requests?: number;
	bytesIn?: number;
	bytesOut?: number;
	/** No program listened, or it gave no answer. */
	upstreamErrors?: number;
	lastHitAt?: string;
}

/* The sandbox */

/** None may be more than the tenant's; those are the default. */
export interface Limits {
	memoryBytes?: number;
	/** 1000 is one core. */
	cpuMillis?: number;
	/** Of 1 to 10000, against others when cores are short. */
	cpuWeight?: number;
	pids?: number;
	diskBytes?: number;
	inodes?: number;
	/** Of one process. */
	openFiles?: number;
	fileSizeBytes?: number;
	/** Of /tmp, and as much again of /dev/shm. */
	tmpBytes?: number;
	contexts?: number;
	/** Background ones at a time. */
	processes?: number;
	/** Of one command, in its answer. */
	outputBytes?: number;
	/** Stored for the sandbox. */
	logBytes?: number;
	/** The longest that an execution runs. */
	wallMs?: number;
}

/** What was refused to a sandbox, and by which setting. */
export interface Denial {
	what: string;
	policy: string;
	count: number;
	lastAt: string;
}

/** What becomes of a sandbox that is not used: "90s", "10m", "7d"; "0s" is
 * never. All count from its last use. */
export interface LifeSettings {
	/** Default: 10m. */
	sleepAfter?: string;
	stopAfter?: string | null;
	deleteAfter?: string | null;
	/** It counts as in use, whatever happens. */
	keepAlive?: boolean;
}

export interface SandboxSettings extends LifeSettings {
	image?: string;
	user?: 'root' | 'sandbox';
	env?: Record<string, string>;
	labels?: Record<string, string>;
	limits?: Limits;
	/** Default: none. */
	network?: 'none' | 'internet';
	/** Ranges such as 192.0.2.0/24: nothing else is reached. */
	networkAllow?: string[];
	networkDeny?: string[];
}

export interface SandboxInfo extends SandboxSettings {
	id: string;
	name: string;
	state: 'creating' | 'running' | 'sleeping' | 'stopped' | 'failed';
	createdAt: string;
	lastActiveAt?: string;
	/** When it sleeps, stops or is deleted, if it is not used before. */
	expiresAt?: string | null;
}

/** What a sandbox and a session in it have in common. */
export abstract class Calls {
	exec(command: string, options?: LiveExecOptions): Promise<ExecResult>;
	execStream(command: string, options?: ExecOptions):
		Promise<EventStream>;

	startProcess(command: string, options?: ProcessOptions):
		Promise<Process>;
	listProcesses(options?: { status?: ProcessStatus }):
		Promise<Process[]>;
	getProcess(id: string): Promise<Process | null>;
	killProcess(id: string, signal?: string, options?: KillOptions):
		Promise<void>;
	signalProcess(id: string, signal: string | number): Promise<void>;
	killAllProcesses(): Promise<number>;
	cleanupCompletedProcesses(): Promise<number>;
	getProcessLogs(id: string): Promise<ProcessLogs>;
	streamProcessLogs(id: string,
		options?: { signal?: AbortSignal; after?: number }):
		Promise<EventStream>;

	createCodeContext(options?: ContextOptions): Promise<CodeContext>;
	listCodeContexts(): Promise<CodeContext[]>;
	deleteCodeContext(id: string): Promise<void>;
	/** Whether its variables were kept. */
	interruptCodeContext(id: string): Promise<{ state: 'kept' | 'lost' }>;
	restartCodeContext(id: string): Promise<{ state: 'kept' | 'lost' }>;
	runCode(code: string, options?: RunCodeOptions): Promise<Execution>;
	runCodeStream(code: string, options?: RunCodeStreamOptions):
		Promise<EventStream>;

	gitCheckout(repoUrl: string, options?: GitCheckoutOptions):
		Promise<GitCheckoutResult>;
	gitPull(options?: GitPullOptions): Promise<GitPullResult>;
	gitPush(options?: GitPushOptions): Promise<GitPushResult>;
	gitStatus(options?: GitOptions & { ignored?: boolean; limit?: number }):
		Promise<GitStatus>;
	gitLog(options?: GitOptions & { ref?: string; paths?: string[];
					limit?: number; skip?: number }):
		Promise<GitLog>;
	/** Of the files to the index; from and to, or staged, say otherwise. */
	gitDiff(options?: GitOptions & { from?: string; to?: string;
					 staged?: boolean; patch?: boolean;
					 contextLines?: number;
					 maxBytes?: number; paths?: string[];
					 limit?: number }): Promise<GitDiff>;
	gitBranches(options?: GitOptions & { remote?: boolean;
					     limit?: number }):
		Promise<GitBranches>;
	gitCreateBranch(name: string,
		options?: GitOptions & { from?: string; force?: boolean;
					 switch?: boolean }):
		Promise<GitBranchResult>;
	gitSwitch(name: string,
		options?: GitOptions & { create?: boolean; from?: string;
					 detach?: boolean; force?: boolean }):
		Promise<GitBranchResult>;
	gitCommit(message: string,
		options?: GitOptions & { all?: boolean; paths?: string[];
					 author?: GitPerson;
					 allowEmpty?: boolean }):
		Promise<GitCommitResult>;

	createBackup(options: BackupOptions): Promise<BackupAnswer>;
	restoreBackup(backup: DirectoryBackup,
		options?: { dir?: string; signal?: AbortSignal }):
		Promise<RestoreBackupResult>;

	writeFile(path: string, content: string | Uint8Array,
		options?: { encoding?: 'utf-8' | 'base64';
			    signal?: AbortSignal }): Promise<FileAnswer>;
	/** Of up to 64 MiB, else FILE_TOO_LARGE: files.get() has no limit. */
	readFile(path: string,
		options?: { encoding?: 'utf-8' | 'base64';
			    signal?: AbortSignal }): Promise<ReadFileResult>;
	/** Of any size; its events are FileEvents. */
	readFileStream(path: string,
		options?: { encoding?: 'utf-8' | 'base64';
			    signal?: AbortSignal }): Promise<EventStream>;
	mkdir(path: string, options?: { recursive?: boolean }):
		Promise<FileAnswer & { recursive: boolean }>;
	deleteFile(path: string): Promise<FileAnswer>;
	renameFile(oldPath: string, newPath: string):
		Promise<FileAnswer & { newPath: string }>;
	moveFile(sourcePath: string, destinationPath: string):
		Promise<FileAnswer & { newPath: string }>;
	listFiles(path: string,
		options?: { recursive?: boolean; includeHidden?: boolean }):
		Promise<FileAnswer & { files: FileInfo[]; count: number }>;
	exists(path: string): Promise<FileAnswer & { exists: boolean }>;

	/** The watch has begun when the stream is here. */
	watch(path: string, options?: WatchOptions): Promise<EventStream>;
	checkChanges(path: string,
		options?: WatchOptions & { since?: string }):
		Promise<CheckChangesResult>;

	exposePort(port: number, options?: PortSettings & { name?: string }):
		Promise<ExposedPort>;
	changePort(port: number, changes: PortSettings & { rotate?: boolean }):
		Promise<ExposedPort>;
	/** One more URL of that port, which is revoked alone. */
	namePort(port: number, name: string, options?: PortSettings):
		Promise<ExposedPort>;
	unnamePort(port: number, name: string): Promise<void>;
	/** To a private preview; `user` is what its program sees, `name` which
	 * of the port's other names it is to. */
	linkPort(port: number, options?: { ttl?: string; expiresAt?: string;
	    user?: string; once?: boolean; name?: string }): Promise<PortLink>;
	unexposePort(port: number): Promise<void>;
	getExposedPorts(): Promise<ExposedPort[]>;
	isPortExposed(port: number): Promise<boolean>;

	/** Starts a terminal, or finds the one of that id. */
	createTerminal(options?: TerminalOptions): Promise<TerminalStarted>;
	/** A URL for one WebSocket, which needs no key. Default ttl: 1m. */
	terminalTicket(options?: { id?: string; sessionId?: string;
	    ttl?: string }): Promise<TerminalTicket>;
	/** Looks at a terminal, which is started if it does not run. */
	openTerminal(options?: TerminalOptions & { WebSocket?: unknown }):
		Promise<Terminal>;

	/** For all later commands; null or undefined unsets. */
	setEnvVars(vars: Environment): Promise<void>;
}

export interface PortSettings {
	/** 1 to 16 of a-z 0-9. */
	token?: string;
	/** Default: public. */
	access?: 'public' | 'private';
	ttl?: string;
	expiresAt?: string;
	/** The program gets the preview's own Host. */
	keepHost?: boolean;
	/** How long a request is held until something listens; to 30000. */
	waitMs?: number;
}

export interface PortLink {
	url: string;
	token: string;
	id: string;
	expiresAt: string;
}

export interface TerminalOptions {
	/** Default: "terminal", or with a session "terminal-<session>". */
	id?: string;
	/** It begins in this session's directory. */
	sessionId?: string;
	/** Default: bash, or sh where there is none. */
	shell?: string;
	cwd?: string;
	/** Of createTerminal() only. */
	env?: Environment;
	user?: 'root' | 'sandbox';
	cols?: number;
	rows?: number;
	/** It hangs up when nobody typed for so long. Default: never. */
	idleTimeoutMs?: number;
}

export interface TerminalStarted {
	id: string;
	pid: number;
	/** False: it ran already. */
	created: boolean;
}

export interface TerminalTicket {
	url: string;
	id: string;
	ticket: string;
	expiresAt: string;
}

/**
 * A viewer. Events, as `event.detail`: `data` (Uint8Array), `ready`,
 * `dropped`, `exit` ({code, reason}), `error` (string), `close` (number).
 */
export class Terminal extends EventTarget {
	readonly id: string;
	write(keys: string | Uint8Array): void;
	resize(cols: number, rows: number): void;
	/** Look away: the terminal goes on. */
	close(): void;
}

export interface SessionOptions {
	id?: string;
	env?: Environment;
	/** Default: /workspace. */
	cwd?: string;
	/** Of each command that has none of its own. */
	commandTimeoutMs?: number;
	idempotencyKey?: string;
	signal?: AbortSignal;
}

export interface SessionInfo {
	id: string;
	cwd: string;
	busy: boolean;
	createdAt: string;
	commandTimeoutMs?: number;
}

/** A shell whose directory, variables and functions stay between calls. */
export class Session extends Calls {
	private constructor();
	readonly id: string;
	getInfo(): Promise<SessionInfo>;
	delete(): Promise<void>;
}

export interface Progress {
	bytes: number;
	/** undefined: not known. */
	total?: number;
}

/** A file, or an archive, that is being read. Its bytes can be taken once. */
export class Download implements AsyncIterable<Uint8Array> {
	private constructor();
	readonly size?: number;
	readonly totalSize?: number;
	readonly offset: number;
	readonly etag?: string;
	readonly contentType?: string;
	readonly lastModified?: Date;
	[Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
	stream(): ReadableStream<Uint8Array>;
	bytes(): Promise<Uint8Array>;
	text(): Promise<string>;
}

export interface TransferOptions {
	onProgress?: (progress: Progress) => void;
	signal?: AbortSignal;
}

export type Content = string | Uint8Array | ArrayBuffer | Blob |
	ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface FileLink {
	id: string;
	method: 'GET' | 'PUT';
	path: string;
	download: boolean;
	createdAt: string;
	expiresAt: string;
}

/** Paths are text, or bytes where a name is no UTF-8. */
export class Files {
	private constructor();
	put(path: string | Uint8Array, content: Content,
		options?: TransferOptions & {
			size?: number;
			mode?: string;
			append?: boolean;
			offset?: number;
			/** false: not to wait until it is on the disk. */
			sync?: boolean;
			ifMatch?: string;
			ifNoneMatch?: string;
		}): Promise<{ path: string; size: number; etag?: string;
			created: boolean }>;
	get(path: string | Uint8Array, options?: TransferOptions & {
		start?: number;
		end?: number;
		ifMatch?: string;
	}): Promise<Download>;
	delete(path: string | Uint8Array, options?: {
		recursive?: boolean;
		ifMatch?: string;
		signal?: AbortSignal;
	}): Promise<void>;
	pack(path: string | Uint8Array, options?: TransferOptions & {
		format?: 'tar' | 'tar.gz' | 'tar.zst' | 'zip';
	}): Promise<Download>;
	unpack(path: string | Uint8Array, content: Content,
		options?: TransferOptions & { size?: number;
			links?: 'inside' | 'all' }):
		Promise<{ path: string; entries: number; bytes: number }>;
	stat(path: string, options?: { followLinks?: boolean;
		signal?: AbortSignal }): Promise<Record<string, unknown>>;
	copy(sourcePath: string, destinationPath: string, options?: {
		recursive?: boolean; overwrite?: boolean }): Promise<FileAnswer>;
	chmod(path: string, mode: string | number,
		options?: { recursive?: boolean }): Promise<FileAnswer>;
	writeMany(files: { path: string; content: string;
		encoding?: string; mode?: string }[],
	options?: { sync?: boolean }): Promise<{ success: boolean;
		files: { path: string; success: boolean; size?: number;
			error?: { code: string; message: string;
				httpStatus: number } }[] }>;
	list(path: string, options?: { recursive?: boolean;
		includeHidden?: boolean; pageSize?: number }):
		AsyncIterable<Record<string, unknown>>;
	link(path: string, options?: { method?: 'GET' | 'PUT'; ttl?: string;
		expiresAt?: string | Date; download?: boolean }):
		Promise<FileLink & { url: string }>;
	links(): Promise<FileLink[]>;
	revokeLink(id: string): Promise<void>;
}

export interface BackupOptions {
	/** An absolute path. */
	dir: string;
	name?: string;
	/** Seconds, or a text such as "12h". Three days if left out. */
	ttl?: number | string;
	/** Leave out what git ignores, if the directory is in a repository. */
	gitignore?: boolean;
	/** "node_modules", "*.log", "build/**". */
	excludes?: string[];
	/** Read, but archives are always zstd. */
	compression?: { format?: 'gzip' | 'lz4' | 'zstd'; threads?: number };
	/** Sent again with the same key and options, it makes no second one. */
	idempotencyKey?: string;
	signal?: AbortSignal;
}

/** Enough to restore it; can be stored anywhere. */
export interface DirectoryBackup {
	readonly id: string;
	readonly dir?: string;
}

export interface Backup {
	readonly id: string;
	readonly dir: string;
	name?: string;
	archivePath?: string;
	/** What it was made of, which may be gone. */
	sandbox: string;
	sandboxId: string;
	/** What it counts against backupBytes. */
	sizeBytes: number;
	entries: number;
	contentBytes: number;
	createdAt: string;
	expiresAt: string;
}

export interface BackupAnswer extends Backup {
	success: boolean;
	timestamp: string;
}

export interface RestoreBackupResult {
	success: boolean;
	dir: string;
	id: string;
	entries: number;
	bytes: number;
	timestamp: string;
}

export interface BackupPage {
	backups: Backup[];
	next?: string;
	usedBytes: number;
	limitBytes: number;
}

export class Sandbox extends Calls {
	private constructor();
	readonly name: string;
	readonly files: Files;

	create(settings?: SandboxSettings): Promise<SandboxInfo>;
	getInfo(): Promise<SandboxInfo>;
	/** They hold at once. */
	update(settings: LifeSettings & { labels?: Record<string, string> }):
		Promise<SandboxInfo>;
	/** "10m", or seconds; 0 is never. */
	setSleepAfter(sleepAfter: string | number): Promise<SandboxInfo>;
	setKeepAlive(keepAlive: boolean): Promise<SandboxInfo>;
	/** All in it stops; the next call or preview hit goes on with it.
	 * Where calls run it is RESOURCE_BUSY, without force. */
	sleep(options?: { force?: boolean }): Promise<SandboxInfo>;
	/** It runs, be it asleep or stopped before. */
	wake(): Promise<SandboxInfo>;
	/** All that runs in it ends; its files stay. */
	stop(): Promise<SandboxInfo>;
	start(): Promise<SandboxInfo>;
	/** It is used now. */
	touch(): Promise<SandboxInfo>;
	getDenials(): Promise<Denial[]>;
	listBackups(options?: { after?: string; limit?: number }):
		Promise<BackupPage>;
	destroy(): Promise<void>;
	ping(): Promise<{ success: boolean; status: string }>;
	getVersion(): Promise<string>;

	createSession(options?: SessionOptions): Promise<Session>;
	getSession(id: string): Promise<Session>;
	listSessions(): Promise<SessionInfo[]>;
	deleteSession(id: string): Promise<void>;
}

export function getSandbox(name: string, options?: ConnectOptions): Sandbox;

export function listSandboxes(options?: ConnectOptions & {
	state?: SandboxInfo['state'];
	after?: string;
	limit?: number;
}): Promise<{ sandboxes: SandboxInfo[]; next?: string }>;

export function listBackups(options?: ConnectOptions & {
	/** Only those of the sandbox with this name or id. */
	sandbox?: string;
	after?: string;
	limit?: number;
}): Promise<BackupPage>;
export function getBackup(id: string, options?: ConnectOptions):
	Promise<Backup>;
export function deleteBackup(id: string, options?: ConnectOptions):
	Promise<void>;

/** The events of a stream that a `…Stream` method returned. */
export function parseSSEStream<
	T = ExecEvent | LogEvent | CodeEvent | FileWatchSSEEvent,
>(stream: EventStream, signal?: AbortSignal): AsyncGenerator<T>;

/** Every refusal of the service, and every failure to reach it. */
export class SandboxError extends Error {
	constructor(message: string, fields?: Partial<SandboxError>);
	readonly code: string;
	/** 0 when there was no answer. */
	readonly httpStatus: number;
	readonly context: Record<string, unknown>;
	readonly requestId?: string;
	readonly operation?: string;
	readonly suggestion?: string;
	readonly timestamp?: string;
}
