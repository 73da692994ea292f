/** Files of other users can be made by root only. */
export const IS_ROOT = process.geteuid?.() === 0
export const NOBODY = 65_534

/** Runs `work` with the rights of another user. Whatever else this process does meanwhile has them too. */
export async function asUser(uid: number, work: () => Promise<void>): Promise<void> {
  process.setegid?.(uid)
  process.seteuid?.(uid)
  try {
    await work()
  } finally {
    process.seteuid?.(0)
    process.setegid?.(0)
  }
}
