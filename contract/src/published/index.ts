// The contract as OpenAPI and Postman documents. Exported as `@shopwire/contract/published`.
export type { Json } from './components.ts'
export { dashboardOpenApiDocument, dashboardOpenApiText } from './dashboard.ts'
export { eventKinds, exampleEvent } from './events.ts'
export { examples } from './examples.ts'
export { openApiDocument, openApiText } from './openapi.ts'
export { postmanText } from './postman.ts'
