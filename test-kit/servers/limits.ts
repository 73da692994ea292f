/** The polling interval while waiting for a condition. */
export const POLL_EVERY_MS = 20

/** initdb writes a few thousand files; a busy CI disk can make that slow. */
export const INITDB_MS_MAX = 120_000
/** Includes crash recovery after a kill, which replays the write-ahead log. */
export const POSTGRES_START_MS_MAX = 60_000
/** Includes loading a snapshot or an append-only file. */
export const REDIS_START_MS_MAX = 30_000
export const CLUSTER_FORM_MS_MAX = 60_000

/** How long each kind of shutdown may take before a stronger one is used. */
export const POSTGRES_FAST_STOP_MS_MAX = 10_000
export const POSTGRES_IMMEDIATE_STOP_MS_MAX = 5_000
export const REDIS_STOP_MS_MAX = 5_000
/** After SIGKILL only the kernel has work left. */
export const KILLED_MS_MAX = 10_000
/** How long the reaper waits for a graceful shutdown; short, so that nothing is left after 5 s. */
export const REAPER_POLITE_MS_MAX = 2_500

/** A port or folder of a run that is still ending becomes free within this time. */
export const TAKEOVER_MS_MAX = 5_000
/** Another process may take a port between the check and the start; then another port is chosen. */
export const PORT_ATTEMPTS_MAX = 8
export const PORT_PROBES_MAX = 500
export const PORT_MIN = 10_240
/** The kernel uses ports from 32768 up for outgoing connections; a listener there collides at random. */
export const PORT_MAX = 32_767
/** A Redis Cluster node also listens on port + 10000, which must stay below the same limit. */
export const CLUSTER_BUS_OFFSET = 10_000
export const CLUSTER_PORT_MAX = 21_999

export const REDIS_COMMAND_MS_MAX = 5_000
/** Timeout of a health query: a stopped process must not delay the others. */
export const CLUSTER_PROBE_MS_MAX = 500
export const CLUSTER_NODE_TIMEOUT_MS = 1_500
export const CLUSTER_SLOTS = 16_384

/**
 * PostgreSQL truncates paths longer than 1023 bytes, including its own file names, and then reports a folder that
 * does not exist.
 */
export const POSTGRES_PATH_BYTES_MAX = 900

export const LOG_TAIL_BYTES_MAX = 4_096

/** The reaper never removes a folder without this prefix. */
export const TEMPORARY_PREFIX = 'shopwire-'
