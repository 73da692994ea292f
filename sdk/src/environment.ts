/** Undefined where it is not set, and where there is no environment to read. */
export function readVariable(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name]
  } catch {
    // Deno throws when the program may not read the environment.
    return undefined
  }
}
