import { API, API_AND_WORKER, type MetricRegistry, WORKER } from '../observability/metric-registry.ts'

export type JobMetrics = ReturnType<typeof jobMetrics>
export type WorkerMetrics = ReturnType<typeof workerMetrics>

export const JOB_STATEMENTS = {
  claimJobs: 'claim_jobs',
  extendLeases: 'extend_leases',
  postponeJob: 'postpone_job',
} as const

export const JOB_OUTCOMES = ['done', 'postponed', 'parked', 'interrupted', 'failed', 'lease_lost'] as const
export type JobOutcome = (typeof JOB_OUTCOMES)[number]

export const JOB_STATES = ['due', 'leased', 'scheduled', 'parked', 'dead'] as const
export type JobState = (typeof JOB_STATES)[number]

export function jobMetrics(registry: MetricRegistry, queues: readonly string[]) {
  return {
    jobsClaimed: registry.counter(WORKER, {
      name: 'shopwire_jobs_claimed_total',
      help: 'Jobs that this worker took from a queue.',
      action: 'If it does not rise while jobs are due, read the log of the worker.',
      labels: { queue: queues },
    }),
    jobsEnded: registry.counter(WORKER, {
      name: 'shopwire_jobs_ended_total',
      help: 'Jobs that this worker ended, by how. lease_lost: another worker had taken the job over.',
      action:
        '"failed" is a defect, or a mail server that refuses mail: read the error lines. "lease_lost": the worker did not run for ten seconds (suspended or overloaded).',
      labels: { queue: queues, outcome: JOB_OUTCOMES },
    }),
    deadLetters: registry.counter(WORKER, {
      name: 'shopwire_dead_letters_total',
      help: 'Jobs that failed too often on our side and are not tried again.',
      action: 'shopwire-admin jobs dead lists them with the reason; jobs retry makes them due again.',
      labels: { queue: queues },
    }),
    workerSlots: registry.readings(WORKER, {
      name: 'shopwire_worker_slots',
      help: 'How many jobs of a queue this worker takes at a time.',
      action: 'Set by SHOPWIRE_WORKER_ORDERS and SHOPWIRE_WORKER_ENDPOINTS; five for mail.',
      labels: { queue: queues },
    }),
    workerSlotsInUse: registry.readings(WORKER, {
      name: 'shopwire_worker_slots_in_use',
      help: 'How many jobs of a queue this worker is running.',
      action: 'Always at shopwire_worker_slots with jobs due: start another worker.',
      labels: { queue: queues },
    }),
    queueJobs: registry.readings(WORKER, {
      name: 'shopwire_queue_jobs',
      help: 'Jobs in the database: due, leased by a worker, scheduled for later, parked until something changes, or dead letters.',
      action:
        'A growing "due": start workers, or check what they do. "parked" orders wait for stock or for an operator. "dead": shopwire-admin jobs dead.',
      labels: { queue: queues, state: JOB_STATES },
    }),
    queueOldestDue: registry.readings(WORKER, {
      name: 'shopwire_queue_oldest_due_seconds',
      help: 'For how long the oldest due job of a queue has been waiting for a worker; 0 when none is due.',
      action: 'More than a few seconds: too few workers or slots, or a database that is slow.',
      labels: { queue: queues },
    }),
  }
}

/** About the workers themselves: whether they run, whether they trust the time, and which removals they stopped. */
export function workerMetrics(registry: MetricRegistry, removals: readonly string[]) {
  return {
    databaseClockOffset: registry.reading(API_AND_WORKER, {
      name: 'shopwire_database_clock_offset_seconds',
      help: 'How far the clock of the database is ahead of the clock of this process.',
      action:
        'One process apart: set its clock. All of them: the clock of the database server. Beyond 60 s signed requests fail.',
    }),
    timeUntrusted: registry.reading(WORKER, {
      name: 'shopwire_time_untrusted',
      help: '1 while this worker does no periodic or irreversible work because a clock is more than five minutes off.',
      action:
        'Its log says which clock. Set it right, or confirm the present time: see "A clock is wrong" in the documentation.',
    }),
    databaseClockSteps: registry.counter(WORKER, {
      name: 'shopwire_database_clock_steps_total',
      help: 'Times the clock of the database was seen to step, by direction (back or forward).',
      action: 'Check the time synchronisation of the database server; let it slew the clock.',
      labels: { direction: ['back', 'forward'] },
    }),
    workersAlive: registry.reading(API, {
      name: 'shopwire_workers_alive',
      help: 'Workers that reported to the database within the last ten seconds.',
      action:
        'Fewer than you started: read the last log lines of the missing worker. None: orders are accepted and not delivered.',
    }),
    workerLastSeen: registry.reading(API, {
      name: 'shopwire_worker_last_seen_seconds',
      help: 'How long ago the last worker reported to the database; no series when none ever did.',
      action: 'As for shopwire_workers_alive.',
    }),
    removalsHeld: registry.readings(WORKER, {
      name: 'shopwire_removals_held',
      help: '1 while removal of old data, by kind, is stopped until an operator releases it, because too much expired within an hour.',
      action: 'Check the clocks and the settings for retention, then shopwire-admin removals release.',
      labels: { kind: removals },
    }),
  }
}
