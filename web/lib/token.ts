type Purpose = 'invitation' | 'reset' | 'verify' | 'alerts'

/**
 * The token of a mailed link. It is behind the `#`, which browsers never send, and is taken out of the address at once, so that it is
 * not in the history or on a picture of the screen. It stays in this tab, because an invitation may go through the sign-in first.
 */
export function takeToken(purpose: Purpose): string {
  const name = `shopwire-${purpose}-token`
  const token = window.location.hash.replace(/^#(token=)?/, '')
  if (token) {
    sessionStorage.setItem(name, token)
    window.history.replaceState(window.history.state, '', window.location.pathname)
  }
  return token || (sessionStorage.getItem(name) ?? '')
}

export function dropToken(purpose: Purpose): void {
  sessionStorage.removeItem(`shopwire-${purpose}-token`)
}
