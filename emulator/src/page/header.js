import { byId, copyButton, h, replace, say } from './dom.js'
import { change, follow, refreshAbout, state } from './live.js'
import { money } from './words.js'

const HIDDEN = '••••••••••••'

export function startHeader() {
  const theme = byId('theme')
  theme.value = document.documentElement.dataset.theme ?? 'system'
  theme.addEventListener('change', () => {
    if (theme.value === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme.value
    remember('theme', theme.value)
  })
  byId('retry').addEventListener('click', follow)
  const more = byId('facts-button')
  more.addEventListener('click', () => {
    const isOpen = more.getAttribute('aria-expanded') !== 'true'
    more.setAttribute('aria-expanded', String(isOpen))
    byId('facts').classList.toggle('open', isOpen)
  })
  for (const leave of document.querySelectorAll('.leave')) {
    leave.addEventListener('click', () => leave.closest('dialog').close('cancel'))
  }
  startBalance()
  startWebhook()
}

export function drawHeader() {
  drawConnection()
  const { about, balanceCents } = state
  const mark = JSON.stringify([about?.base_url, about?.key, about?.webhook, about?.version, balanceCents])
  if (about === null || mark === drawnMark) return
  drawnMark = mark
  byId('version').textContent = about.version ?? ''
  const focused = byId('facts').contains(document.activeElement) && nameOf(document.activeElement)
  replace(
    byId('facts'),
    fact(
      'Base URL',
      h('code', {}, about.base_url),
      copyButton('the base URL', () => about.base_url),
    ),
    fact(
      'Key',
      h('code', {}, about.key.id),
      copyButton('the key id', () => about.key.id),
    ),
    fact('Secret', ...secretOf('the secret', about.key.secret)),
    fact(
      'Webhook',
      about.webhook ? h('code', {}, about.webhook.url) : h('span', { class: 'dim' }, 'none'),
      about.webhook && copyButton('the webhook URL', () => about.webhook.url),
      h(
        'button',
        { type: 'button', class: 'copy', onclick: () => openWebhook() },
        about.webhook ? 'Change' : 'Set',
      ),
    ),
    about.webhook && fact('Webhook secret', ...secretOf('the webhook secret', about.webhook.secret)),
    balanceCents !== null &&
      fact(
        'Balance',
        h('b', {}, money(balanceCents)),
        h(
          'button',
          {
            type: 'button',
            class: 'copy',
            'aria-label': 'Set the balance',
            onclick: () => openBalance(),
          },
          'Set',
        ),
      ),
  )
  if (focused)
    [...byId('facts').querySelectorAll('button')].find((button) => nameOf(button) === focused)?.focus()
}

export function drawConnection() {
  const { phase, retryAtMs } = state
  const seconds = Math.max(0, Math.ceil((retryAtMs - Date.now()) / 1000))
  const text = {
    live: 'Live',
    loading: 'Connecting',
    lost: 'Connection lost. The page shows the last known state; reconnecting',
    unreachable: 'No answer; reconnecting',
  }[phase]
  byId('connection').className = `connection ${phase}`
  // Screen readers would read a countdown every second.
  byId('connection').title = phase === 'live' ? 'What happens is shown at once' : `Next try in ${seconds} s`
  if (byId('connection-text').textContent !== text) byId('connection-text').textContent = text
  byId('retry').hidden = phase === 'live' || phase === 'loading'
}

export function remember(name, value) {
  try {
    localStorage.setItem(name, value)
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

export function remembered(name) {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

let drawnMark = ''
const unmasked = new Set()

function nameOf(button) {
  return button.getAttribute('aria-label') ?? button.textContent
}

function fact(name, ...value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value))
}

function secretOf(what, secret) {
  const code = h('code', {}, unmasked.has(what) ? secret : HIDDEN)
  const show = h(
    'button',
    {
      type: 'button',
      class: 'copy',
      'aria-pressed': String(unmasked.has(what)),
      'aria-label': `Show ${what}`,
    },
    'Show',
  )
  show.addEventListener('click', () => {
    const isShown = !unmasked.has(what)
    if (isShown) unmasked.add(what)
    else unmasked.delete(what)
    code.textContent = isShown ? secret : HIDDEN
    show.setAttribute('aria-pressed', String(isShown))
  })
  return [code, show, copyButton(what, () => secret)]
}

function openBalance() {
  const dialog = byId('balance-dialog')
  dialog.querySelector('input').value = ((state.balanceCents ?? 0) / 100).toFixed(2)
  dialog.returnValue = ''
  dialog.showModal()
  dialog.querySelector('input').select()
}

function startBalance() {
  const dialog = byId('balance-dialog')
  dialog.addEventListener('close', async () => {
    if (dialog.returnValue !== 'set') return
    const cents = Math.round(Number(dialog.querySelector('input').value) * 100)
    if ((await change('POST', '/balance', { balance_cents: cents })) === null) return
    say(`The balance is ${money(cents)}.`)
    await refreshAbout()
  })
}

export function openWebhook() {
  const dialog = byId('webhook-dialog')
  dialog.querySelector('[name=url]').value = state.about?.webhook?.url ?? ''
  dialog.querySelector('[name=secret]').value = ''
  dialog.returnValue = ''
  dialog.showModal()
}

function startWebhook() {
  const dialog = byId('webhook-dialog')
  const url = dialog.querySelector('[name=url]')
  const secret = dialog.querySelector('[name=secret]')
  byId('use-inbox').addEventListener('click', () => {
    url.value = `${location.origin}/_emulator/inbox`
    url.focus()
  })
  byId('remove-webhook').addEventListener('click', () => dialog.close('remove'))
  dialog.addEventListener('close', async () => {
    const isRemoved = dialog.returnValue === 'remove'
    if (!isRemoved && (dialog.returnValue !== 'set' || url.value === '')) return
    const body = isRemoved
      ? { url: null }
      : { url: url.value, ...(secret.value === '' ? {} : { secret: secret.value }) }
    if ((await change('POST', '/webhook', body)) === null) return
    say(isRemoved ? 'The webhook is removed.' : 'The webhook is set.')
    await refreshAbout()
  })
}
