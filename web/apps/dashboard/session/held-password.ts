const HELD_MS = 300_000

let held: { readonly password: string; readonly until: number } | undefined

/** Somebody who just typed a password and must now set up a second factor is not asked for it again. In memory only. */
export function holdPassword(password: string): void {
  held = { password, until: Date.now() + HELD_MS }
}

export function heldPassword(): string | undefined {
  return held && held.until > Date.now() ? held.password : undefined
}

export function dropPassword(): void {
  held = undefined
}
