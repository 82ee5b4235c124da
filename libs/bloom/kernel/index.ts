export * from './layout';
export * from './positions';
export * from './strings';
