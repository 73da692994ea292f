export * from '../headers.ts'
export { type MadeMistake, MISTAKES, type Mistake, matchMistake, type SignatureAttempt } from './mistakes.ts'
export * from './request.ts'
export * from './webhook.ts'
