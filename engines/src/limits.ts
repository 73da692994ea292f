/** How often a condition is looked at again while waiting for it. */
export const POLL_EVERY_MS = 20

/** initdb writes a few thousand files; a busy CI disk can make that slow. */
export const INITDB_MS_MAX = 120_000
/** Includes crash recovery after a kill, which replays the write-ahead log. */
export const POSTGRES_START_MS_MAX = 60_000
/** Includes loading a snapshot or an append-only file. */
export const REDIS_START_MS_MAX = 30_000
export const CLUSTER_FORM_MS_MAX = 60_000

/** How long each kind of shutdown may take before the next, ruder one. */
export const POSTGRES_FAST_STOP_MS_MAX = 10_000
export const POSTGRES_IMMEDIATE_STOP_MS_MAX = 5_000
export const REDIS_STOP_MS_MAX = 5_000
/** After SIGKILL only the kernel has work left. */
export const KILLED_MS_MAX = 10_000
/** What the leash grants when the parent is gone; kept short so that nothing is left 5 s later. */
export const LEASH_POLITE_MS_MAX = 2_500

/** A port or folder left by a run that is still ending becomes free within this time. */
export const TAKEOVER_MS_MAX = 5_000
/** Another process may take a port between our look and our start; then we choose again. */
export const PORT_ATTEMPTS_MAX = 8
export const PORT_PROBES_MAX = 500
export const PORT_MIN = 10_240
/** The kernel hands out ports from 32768 up to outgoing connections; a listener there clashes at random. */
export const PORT_MAX = 32_767
/** A Redis Cluster node also listens on port + 10000, which must stay below the same border. */
export const CLUSTER_BUS_OFFSET = 10_000
export const CLUSTER_PORT_MAX = 21_999

export const REDIS_COMMAND_MS_MAX = 5_000
/** Asking a node how it is: a stopped process must not hold up the others. */
export const CLUSTER_PROBE_MS_MAX = 500
export const CLUSTER_NODE_TIMEOUT_MS = 1_500
export const CLUSTER_SLOTS = 16_384

/** PostgreSQL cuts longer names than 1023 off, its own files included, and then complains of a folder nobody has heard of. */
export const POSTGRES_PATH_BYTES_MAX = 900

export const LOG_TAIL_BYTES_MAX = 4_096

/** The leash removes no folder without this prefix, whatever it is told. */
export const TEMPORARY_PREFIX = 'shopwire-'
