import { formatCount } from '#lib/money.ts'

/** Every word of the webhook screen. */
export const webhook = {
  tab: 'Webhook',
  what: 'The webhook',
  titles: {
    none: 'Webhook',
    suspended: 'Deliveries are held',
    unused: 'Your webhook waits for its first event',
    healthy: 'Your webhook is healthy',
    retrying: 'Your webhook needs a look',
    failing: 'Your webhook is failing',
  },
  states: {
    none: 'Not set',
    suspended: 'Held',
    unused: 'Nothing sent yet',
    healthy: 'Healthy',
    retrying: 'Retrying',
    failing: 'Failing',
  },
  sentences: {
    suspended: 'The account is suspended. Events wait, and their 24 hours run on.',
    unused: 'Nothing was sent to this URL yet. A test shows whether it answers; it costs nothing.',
    healthy: 'Events are accepted by your server.',
    retrying: (count: number) =>
      count === 1
        ? 'One event was refused and is tried again. Others are accepted.'
        : `${formatCount(count)} events were refused and are tried again.`,
    failing: (failed: number, attempts: number) =>
      `${failed} of the last ${attempts} attempts failed. Events are kept and tried again for up to 24 hours.`,
  },
  seeDeliveries: 'See deliveries',
  changeUrl: 'Change URL…',
  sendTest: 'Send test',

  figures: {
    waiting: 'Waiting',
    waitingNote: (retrying: number) =>
      retrying === 0 ? 'none was refused' : `${formatCount(retrying)} refused at least once`,
    failed: 'Given up',
    failedNote: 'after 12 attempts or 24 hours',
    recover: 'Recover them',
    lastAccepted: 'Last accepted',
    lastFailure: 'Last failure',
    never: 'Never',
    recent: 'Last attempts',
    recentNote: (failed: number, attempts: number) => `${failed} of ${attempts} failed`,
    recentNone: 'no attempt yet',
    recentPicture: (failed: number, attempts: number) => `Of the last ${attempts} attempts ${failed} failed.`,
  },

  endpoint: {
    title: 'Endpoint',
    url: 'URL',
    set: 'Set',
    by: { person: 'by', key: 'with the API key', operator: 'by an operator of the store' },
    revoked: 'The key that set it was revoked. Events go on until the URL is changed.',
    lostScope:
      'The key that set it no longer has orders:read, which events need. They go on until the URL is changed; set it again here to keep it on purpose.',
    alert: (percent: number) => `Owners were told that ${percent} % of the attempts fail.`,
    stop: 'Stop webhook…',
  },

  secret: {
    title: 'Signing secret',
    secret: 'Secret',
    hidden: (hint: string) => `whsec_…${hint}`,
    since: 'In use since',
    rotate: 'Rotate secret…',
    previous: 'Previous secret',
    signsFor: (left: string) => `signs too for another ${left}`,
    end: 'End it now…',
    bothTitle: 'Two secrets sign every event',
    bothBody: (left: string) =>
      `The new one in X-Webhook-Signature, the previous one in X-Webhook-Signature-Previous, for another ${left}. Give your receivers the new secret in that time.`,
  },

  retries: {
    title: 'Retry schedule',
    body: 'An event that is not answered with a 2xx in 10 seconds is sent again with the same id and bytes: 12 attempts over 6 hours, at most 24 hours after the event.',
  },

  events: {
    title: 'Events',
    caption: 'Types of events and when each was last made. Choose one to see its schema and an example.',
    type: 'Event',
    when: 'When',
    last: 'Last',
    notYet: 'not yet',
    yours: 'What you do',
    example: 'Example',
    schema: 'JSON Schema',
    send: 'Send this example…',
    noUrl: 'Set a webhook URL first, then the example can be sent to it.',
    noRole: 'Owners and Developers send examples.',
    sendTitle: (type: string) => `Send an example of ${type}`,
    sendLead: (host: string) =>
      `To ${host}, signed like every event. Its data.message says that it is an example, and the order in it cannot exist: a server that looks orders up before it acts does nothing with it.`,
    sendConfirm: 'Send example',
    sendKeep: 'Send nothing',
    notSent: 'No example was sent',
  },

  test: {
    sending: 'A test is on its way to your server…',
    accepted: (code: number, took: string) => `Accepted with ${code} in ${took}.`,
    refused: (what: string) => `Not accepted: ${what}.`,
    open: 'Open it',
    notSent: 'No test was sent',
    label: 'Outcome of the test',
  },

  setup: {
    lead: 'Shopwire tells your server when an order is accepted, delivered or cancelled, instead of you asking again and again.',
    url: 'Say where events go',
    urlBody: 'A public HTTPS address that accepts JSON by POST.',
    urlLabel: 'Webhook URL',
    urlPlaceholder: 'https://example.com/hooks/shopwire',
    setUrl: 'Set URL',
    secret: 'Keep the signing secret',
    secretBody: 'It is shown once, right after the URL is set. Your server checks every event with it.',
    test: 'Send a test',
    testBody: 'Its answer appears here as it arrives. No order is made and nothing is spent.',
    tipTitle: 'Nothing public yet?',
    tip: 'Forward events to your own machine while you build:',
    noRole: 'Owners and Developers set the webhook URL.',
  },

  change: {
    title: 'Change the webhook URL',
    lead: 'The signing secret stays the same. Events that wait for the old URL are cancelled and can be recovered afterwards.',
    pending: 'Waiting for the old URL',
    cancelled: (count: string) => `${count}, will be cancelled`,
    confirm: 'Change URL',
    keep: 'Keep URL as is',
    done: 'Events are sent to the new URL',
    doneMore: 'Nothing more is sent to the old one. Owners get a mail about it.',
    setDone: 'The webhook URL is set',
    setDoneMore: 'Send a test to see whether it answers.',
    failed: 'The URL was not changed',
  },

  stop: {
    title: 'Stop the webhook',
    lead: 'No events are sent any more. What waits is cancelled. A URL that is set later gets a new signing secret.',
    confirm: 'Stop webhook',
    keep: 'Keep it running',
    typeName: 'stop',
    done: 'The webhook is stopped',
    doneMore: 'Events are recorded and can be recovered once a URL is set again.',
    failed: 'The webhook was not stopped',
  },

  rotate: {
    title: 'Rotate the signing secret',
    lead: 'The new secret signs at once. For 24 hours the present one signs too, in a second header, so that no event is refused while you switch.',
    steps: [
      'Rotate, and store the new secret on your server.',
      'Let your server accept either secret, or switch over at once: both signatures are sent.',
      'After 24 hours, or when you end it, only the new secret signs.',
    ],
    again: 'A rotation is under way: the secret before the present one stops signing at once.',
    confirm: 'Rotate secret',
    keep: 'Keep secret as is',
    failed: 'The secret was not rotated',
    newTitle: 'Store the new signing secret',
    newLead: 'It signs every event from now on. The previous one signs too for 24 hours.',
  },

  firstSecret: {
    title: 'Store the signing secret',
    lead: 'Your server checks with it that events come from this store.',
  },
  secretLabel: 'Signing secret',
  secretStored: 'I stored the secret on my server',
  secretWarning: 'Shown once. A lost secret is replaced by rotating, never recovered.',

  end: {
    title: 'End the previous secret now',
    lead: 'Only the new secret signs from now on. Receivers that still use the previous one refuse every event.',
    confirm: 'End previous secret',
    keep: 'Let both sign',
    done: 'Only the new secret signs now',
    failed: 'Both secrets still sign',
  },
} as const
