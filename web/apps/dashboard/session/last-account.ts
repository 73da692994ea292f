const NAME = 'shopwire-last-account'

/** The name of the account that this browser showed last, until somebody signs out: the frame is drawn before the service has answered. */
export const lastAccount = (): string | null => {
  try {
    return localStorage.getItem(NAME)
  } catch {
    return null
  }
}

export function rememberAccount(name: string | null): void {
  try {
    if (name === null) localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, name)
  } catch {
    // Storage is blocked: the page stays empty until the answer.
  }
}
