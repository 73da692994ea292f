import { createInterface } from 'node:readline/promises'

/** Somebody is there to answer. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Anything but a clear yes is a no. Asked on stderr, so that stdout stays the result. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(`${question} [y/N] `)).trim())
}

export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    // Ctrl-D and Ctrl-C close it unanswered.
    lines.once('SIGINT', () => lines.close())
    return await Promise.race([lines.question(question), closed])
  } finally {
    lines.close()
  }
}

/** Typed or pasted without being shown. */
export function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process
  // First: what is pasted as soon as the question shows would be echoed by the terminal.
  stdin.setRawMode(true)
  stderr.write(question)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise((resolve) => {
    let text = ''
    const finish = (value: string) => {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      resolve(value)
    }
    const onData = (chunk: string) => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n') return finish(text)
        if (char === '\x03' || char === '\x04') return finish('')
        text = char === '\x7f' || char === '\b' ? text.slice(0, -1) : text + char
      }
    }
    stdin.on('data', onData)
  })
}

export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
