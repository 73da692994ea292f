import { createInterface } from 'node:readline'
import type { Chat, Message } from './chat.ts'

const LINE = /^(?:@(?<user>\w+) )?(?:#(?<id>[\w.:-]+) )?(?<text>.*)$/

/**
 * A chat for one keyboard. `@bob /shop` writes as another user, `#42 /yes` sets the message's id: send it twice to
 * test duplicates.
 */
export class Terminal implements Chat {
  readonly name = 'terminal'

  async *messages(): AsyncGenerator<Message> {
    const startedAt = Date.now().toString(36)
    let count = 0
    for await (const line of createInterface({ input: process.stdin })) {
      count += 1
      const { user = 'you', id = `${startedAt}-${count}`, text = '' } = LINE.exec(line.trim())?.groups ?? {}
      if (text !== '') yield { id, user, text }
    }
  }

  async reply({ user }: Message, text: string) {
    console.log(`#shop @${user}: ${text}`)
  }

  async whisper(user: string, text: string) {
    console.log(`(only @${user}) ${text}`)
  }
}
