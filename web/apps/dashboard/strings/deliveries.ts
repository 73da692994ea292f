import { formatCount } from '#lib/money.ts'

const events = (count: number) => (count === 1 ? '1 event' : `${formatCount(count)} events`)

/** Every word of the deliveries screen. */
export const deliveries = {
  tab: 'Deliveries',
  title: (waiting: number, retrying: number) => {
    if (waiting === 0) return 'Every event has been answered for'
    if (retrying === 0)
      return waiting === 1 ? '1 event is on its way' : `${formatCount(waiting)} events are on their way`
    return waiting === 1 ? '1 event is waiting' : `${formatCount(waiting)} events are waiting`
  },
  titleAccepted: 'Every event was accepted',
  titleFailed: (failed: number) =>
    failed === 1 ? '1 event was given up' : `${formatCount(failed)} events were given up`,
  titleNone: 'Deliveries',
  noUrl: 'No webhook URL is set: events are recorded and not sent.',
  setUrl: 'Set a URL',
  sendTest: 'Send test',
  testSent: 'A test event is on its way',
  testSentMore: 'It appears here with the answer of your server.',
  testNotSent: 'No test was sent',
  recover: 'Recover failed…',

  chart: {
    title: { '24h': 'Last 24 hours', '7d': 'Last 7 days' },
    range: 'Period of the chart',
    '24h': '24 hours',
    '7d': '7 days',
    accepted: 'Accepted',
    retrying: 'Retrying',
    failed: 'Failed',
    summary: (accepted: number, retrying: number, failed: number) =>
      `Events by hour: ${formatCount(accepted)} accepted, ${formatCount(retrying)} being retried, ${formatCount(failed)} failed.`,
    none: 'No events in this period.',
  },

  filters: {
    state: 'State',
    states: [
      ['retrying', 'Retrying'],
      ['failed', 'Failed'],
      ['accepted', 'Accepted'],
      ['cancelled', 'Cancelled'],
    ],
    type: 'Event',
    types: [
      ['order.accepted', 'order.accepted'],
      ['order.delivered', 'order.delivered'],
      ['order.cancelled', 'order.cancelled'],
      ['catalogue.changed', 'catalogue.changed'],
      ['test', 'test'],
    ],
    code: 'Code',
    codes: [
      ['2xx', '2xx, accepted'],
      ['3xx', '3xx, a redirect'],
      ['4xx', '4xx, your server refused'],
      ['5xx', '5xx, your server failed'],
      ['timeout', 'timeout'],
      ['connection', 'no connection'],
      ['tls', 'certificate'],
      ['refused', 'address not allowed'],
      ['other', 'anything else'],
    ],
    order: 'Order id',
    time: 'Time',
    times: [
      ['1', 'Last hour'],
      ['24', 'Last 24 hours'],
      ['168', 'Last 7 days'],
    ],
  },

  caption: 'Deliveries, newest event first',
  what: 'Deliveries',
  columns: {
    state: 'State',
    event: 'Event',
    order: 'Order',
    code: 'Code',
    attempt: 'Attempt',
    took: 'Took',
    created: 'Created',
    next: 'Next try',
  },
  attempts: (n: number) => `${n} / 12`,
  queued: 'Queued',
  stopped: 'stopped',
  now: 'now',
  inTime: (ms: number) => {
    const seconds = Math.max(1, Math.floor(ms / 1_000))
    if (seconds < 60) return seconds === 1 ? 'in 1 second' : `in ${seconds} seconds`
    const minutes = Math.round(seconds / 60)
    return minutes === 1 ? 'in 1 minute' : `in ${minutes} minutes`
  },
  showNew: (count: number) => (count === 1 ? 'Show 1 new event' : `Show ${count} new events`),
  none: 'No events yet',
  noneBody:
    'An event is sent to your URL when an order is accepted, delivered or cancelled, and when the catalogue changes. A test costs nothing.',
  noResult: 'No delivery matches these filters',
  noResultBody:
    'Remove one of them to see more. Events are kept for as long as the store keeps its delivery log.',

  exportAll: 'Export CSV',
  selection: {
    resend: (count: number) => `Resend ${events(count)}…`,
    export: 'Export selected',
    title: (count: number) => `Resend ${events(count)}`,
    lead: 'To the webhook URL as it is now, oldest first, at most 20 a second. Ids and bytes stay the same, signatures are new. Your server must know ids that it has handled.',
    twice: (rows: number) =>
      rows === 1
        ? 'One selected row is of an event that is selected twice, because it was sent to two URLs.'
        : `${rows} selected rows are of events that are selected twice, because they were sent to two URLs.`,
    confirm: (count: number) => `Resend ${events(count)}`,
    keep: 'Send nothing',
    done: (count: number) => `${events(count)} ${count === 1 ? 'is' : 'are'} on the way again`,
    doneMore: 'The same ids and the same bytes, with new signatures.',
    notDone: 'No event was sent again',
    partly: (sent: number, asked: number) => `${formatCount(sent)} of ${events(asked)} on the way again`,
    partlyLead: 'These were not sent again:',
    close: 'Close',
    outcomes: {
      resent: 'on the way again',
      already_queued: 'waits for its next attempt anyway',
      not_found: 'past the retention of events',
    },
  },

  /** What the last attempt ended with, as short as a code. */
  error: {
    dns: 'dns',
    blocked: 'blocked',
    connect: 'connect',
    tls: 'tls',
    timeout: 'timeout',
    reset: 'reset',
    bad_response: 'bad answer',
    internal: 'our side',
  } as Readonly<Record<string, string>>,

  panel: {
    for: 'for',
    attempt: (n: number) => `Attempt ${n} of 12`,
    first: 'The first attempt is about to be made',
    acceptedAfter: (n: number) =>
      n === 1 ? 'Accepted at the first attempt' : `Accepted at attempt ${n} of 12`,
    failedAfter: (n: number) =>
      n === 12 ? 'Given up after 12 attempts' : `Given up after 24 hours and ${n} attempts`,
    cancelled: 'Cancelled with its URL, or replaced by a newer test',
    givesUp: 'gives up at',
    round: (n: number) => `sent again, round ${n}`,
    attempts: 'Attempts',
    attemptsCaption: 'Attempts, newest first. Choose one to see its request and answer.',
    noAnswer: 'no answer',
    request: 'Request',
    answer: 'Answer',
    verify: 'Verify signature',
    tabs: 'Of the chosen attempt',
    noAttempt: 'Nothing was sent yet.',
    noBody: 'The body is written when it is first sent.',
    masked: (count: number) =>
      count === 1
        ? 'One gift link is masked; your server received it.'
        : `${count} gift links are masked; your server received them.`,
    noAnswerKept: 'Accepted. The answer is kept only when an event is refused, or is a test.',
    nothingAnswered: 'Your server sent no answer.',
    cut: 'Cut after 500 characters. Links are removed.',
    answerNote: 'Links in answers are removed before they are stored.',
    connect: 'Connect, TLS',
    reused: 'reused',
    send: 'Send',
    wait: 'Wait',
    timings: 'How long the attempt took',
    resend: 'Resend now',
    resent: 'The event is on its way again',
    resentMore: 'The same id and the same bytes, with a new signature.',
    notResent: 'The event was not sent again',
    copyCurl: 'Copy as curl',
    curlLinks: '# Links are masked here, so the signature will not match. "Resend now" sends the real bytes.',
    curlOld: '# A receiver refuses timestamps more than 300 seconds old: switch that check off for this try.',
    nextEvent: 'next event',
    otherUrl: 'Sent to a URL that has since been replaced:',
    gone: 'This event',
  },

  verify: {
    lead: 'The signature is the HMAC-SHA256 of timestamp, id and raw body, joined by periods. Run this where your secret is; it never leaves your machine.',
    expected: 'It prints this signature when secret and body are right:',
    previous: 'With the secret from before the rotation it prints:',
    body: (bytes: string) =>
      `The body as sent has ${bytes} bytes and this SHA-256. If yours differs, something changed it before you checked:`,
    hints: [
      'Check the raw bytes before a JSON parser has seen them.',
      'The key is the whole secret, whsec_ included.',
      'Compare in constant time, and refuse timestamps more than 300 seconds off.',
    ],
    nothing: 'Nothing was signed: the event could not be sent from our side.',
    shell: 'openssl',
    cli: 'shopwire',
    recipe: 'How to verify this signature',
  },

  /** What an outcome means and what happens next. */
  diagnosis: {
    accepted: 'Your server accepted the event. Nothing else is sent for it.',
    dns: 'The name of your host could not be looked up. Check its DNS records; the next attempt looks again.',
    blocked:
      'Your host name stands for an address that is not public, and this store does not send there. Point it at a public address.',
    connect:
      'No connection to your server: it is down, or a firewall closes the port. The next attempt passes once it is reachable.',
    tls: 'The certificate of your server is expired, not trusted, or for another name. Renew it; the next attempt checks again.',
    timeout:
      'Your server did not answer in 10 seconds. Answer first with 200 and do the work afterwards; the next attempt sends the same id again.',
    reset:
      'The connection was cut before an answer came. A proxy in front of your server may have restarted.',
    bad_response: 'What came back was not HTTP. Check what listens on this port.',
    internal: 'The fault was on our side, not yours. It is tried again.',
    redirect: 'Redirects are not followed. Set the address that it leads to as the webhook URL.',
    unauthorised:
      'Your server refused the signature or asks for a login. The tab "Verify signature" shows how to check this very one.',
    missing: 'Nothing answers at this path. Check the path of the webhook URL.',
    refused: 'Your server refused the event. Its answer says why; the next attempt sends the same bytes.',
    gateway:
      'Your server answers but the service behind it does not. When it is back, the next attempt will pass on its own.',
    broken: 'Your server failed while it handled the event. Look for this event id in its log.',
    tooMany:
      'Your server asked us to slow down. The schedule of attempts stays the same, at most four at a time.',
    other: 'The answer was not a 2xx, so the event counts as not accepted.',
  },

  recoverDialog: {
    title: 'Recover events that were never accepted',
    lead: 'Sends events that your server has not accepted, with the same ids and bytes. Accepted ones are not sent again.',
    which: 'Which events',
    all: 'All that were given up',
    period: 'A period',
    from: (zone: string) => `From, ${zone}`,
    to: (zone: string) => `To, ${zone}`,
    last: 'Last',
    hour: 'hour',
    day: '24 hours',
    week: '7 days',
    type: 'Event',
    reasons: { failed: 'given up', cancelled: 'cancelled with their URL', unsent: 'no URL was set' },
    total: 'Will be sent',
    nothingGivenUp: 'No event was given up: everything was accepted or is on its way.',
    nothing: 'Every event of this period was accepted or is on its way.',
    limited: (now: string, total: string) =>
      `The oldest ${now} of ${total} are sent now. Recover again for the rest.`,
    pace: 'New events are sent in between: 20 of these a second.',
    counting: 'Counting…',
    wrongPeriod: 'The end must be after the beginning, at most 7 days later.',
    confirm: (count: number) => `Send ${events(count)}`,
    keep: 'Send nothing',
    sent: (count: number) => `${events(count)} ${count === 1 ? 'is' : 'are'} on the way`,
    sentMore: (remaining: number) =>
      remaining === 0
        ? 'They arrive in the order in which they happened, with new ones in between.'
        : `${events(remaining)} are left: recover again.`,
    notSent: 'Nothing was sent',
  },
} as const
