export * from '../headers.ts'
export { MISTAKES, type Mistake, matchMistake, type SignatureAttempt } from './mistakes.ts'
export * from './request.ts'
export * from './webhook.ts'
