import { Balance, PingResult } from './account.ts'
import { CartItem } from './cart.ts'
import { CataloguePage, CatalogueQuery, Item } from './catalogue.ts'
import { ErrorBody } from './errors.ts'
import { Order, OrderLine, OrderRequest, OrderSummary, OrdersPage, OrdersQuery } from './order.ts'
import { Quote, QuoteLine, QuoteRequest } from './quote.ts'
import { ServiceStatus } from './service-status.ts'
import {
  CatalogueChangedEvent,
  OrderAcceptedEvent,
  OrderCancelledEvent,
  OrderDeliveredEvent,
  TestEvent,
  WebhookConfiguration,
  WebhookEvent,
  WebhookHealth,
  WebhookRequest,
  WebhookTestRequest,
  WebhookTestResult,
} from './webhook.ts'

/** Every schema under its published name, for code that needs all of them: the validator, OpenAPI, tests. */
export const schemas = {
  Balance,
  CartItem,
  CatalogueChangedEvent,
  CataloguePage,
  CatalogueQuery,
  ErrorBody,
  Item,
  Order,
  OrderAcceptedEvent,
  OrderCancelledEvent,
  OrderDeliveredEvent,
  OrderLine,
  OrderRequest,
  OrderSummary,
  OrdersPage,
  OrdersQuery,
  PingResult,
  Quote,
  QuoteLine,
  QuoteRequest,
  ServiceStatus,
  TestEvent,
  WebhookConfiguration,
  WebhookEvent,
  WebhookHealth,
  WebhookRequest,
  WebhookTestRequest,
  WebhookTestResult,
}

export type SchemaName = keyof typeof schemas
