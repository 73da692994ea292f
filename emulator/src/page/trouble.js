import { h } from './dom.js'
import { isWrongSignature } from './kinds.js'
import { state } from './live.js'
import { count, parsed } from './words.js'

/** Why a request was refused, derived from the recorded request. Null when it was not refused. */
export function troubleBox(one) {
  if (one.status === null || one.status < 400) return null
  const trouble = isWrongSignature(one) ? wrongSignature(one) : (OTHERS[one.error_type] ?? plain)(one)
  if (trouble === null) return null
  const { title, fix, name } = trouble
  return h(
    'div',
    { class: `box bad ${name ? 'mistake' : ''}` },
    h('h3', {}, title),
    fix && h('p', { class: 'fix' }, h('b', {}, 'What to do: '), fix),
    name && h('p', { class: 'dim mono' }, name),
  )
}

/** The formats from the contract. */
const FORMS = [
  ['X-Api-Key', /^key_[a-z0-9]{1,16}_[0-9a-hjkmnp-tv-z]{26}$/, 'the id of the key, as it is shown above'],
  ['X-Api-Timestamp', /^[1-9][0-9]{9}$/, 'Unix seconds, ten digits'],
  ['X-Api-Nonce', /^[0-9a-f]{32,64}$/, '32 to 64 lower-case hex characters'],
  ['X-Api-Signature', /^[0-9a-f]{64}$/, '64 lower-case hex characters'],
]

function wrongSignature(one) {
  if (one.mistake) return { ...one.mistake, title: `${one.mistake.title}.` }
  const headers = new Map(
    Object.entries(one.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  )
  for (const [name, form, words] of FORMS) {
    const value = headers.get(name.toLowerCase())
    if (value === undefined) return { title: `The header ${name} is missing.`, fix: `Send it: ${words}.` }
    if (!form.test(value))
      return { title: `The header ${name} does not have the required format.`, fix: `Send ${words}.` }
  }
  if (one.account_id === null) {
    return {
      title: 'No account here has this key.',
      fix: `The emulator's own key is ${state.about?.key.id}. Perhaps your environment has the key of a real store.`,
    }
  }
  return {
    title: 'The signature is wrong, but not by a known mistake.',
    fix: 'Possible causes: nonce or timestamp differ between signing and sending, the body changed after signing, or the secret belongs to another key. Compare your text with the lines below.',
  }
}

const OTHERS = {
  timestamp_out_of_range: (one) => {
    const seconds = Number(one.timestamp) - Math.floor(Date.parse(one.at) / 1000)
    if (!/^\d{10}$/.test(one.timestamp ?? '')) return plain(one)
    return {
      title: `The timestamp is ${count(Math.abs(seconds), 'second')} ${seconds < 0 ? 'behind' : 'ahead of'} this machine's clock.`,
      fix:
        one.fault === null
          ? "Take a new timestamp for every attempt and synchronise the clock. The Date header of the answer is the store's time."
          : 'A fault has changed the clock of the store. The Date header of the answer is its time: sign again with that.',
    }
  },
  nonce_reused: () => ({
    title: 'This nonce was used before.',
    fix: 'Make a fresh one for every attempt, retries too. An HTTP library may be repeating requests automatically.',
  }),
}

/** Uses the message of the answer. */
function plain({ answer, error_type }) {
  const message = parsed(answer)?.error?.message
  return typeof message === 'string' ? { title: message } : error_type && { title: error_type }
}
