import { Injectable } from '@nestjs/common';
import type { Operation } from '#store';
import { InvalidUrlProfileError, normaliseProfile, type NormalisedUrlProfile } from '#url-key';
import type { Principal } from '../request/principal.js';
import { invalid } from '../errors/problem.js';
import { FilterLifecycle, type Listed } from '../filters/filter-lifecycle.js';
import type { ListQueryDto } from '../filters/filter.dto.js';
import { perHostOf } from '../filters/per-host.js';
import { DEFAULT_ERROR_RATE, DEFAULT_URL_PROFILE, type CreateVisitedSetDto } from './visited-set.dto.js';
import {
  lostVisitedSetView,
  visitedSetView,
  type LostVisitedSetView,
  type VisitedSetListView,
  type VisitedSetView,
} from './visited-set.view.js';

const KIND = 'visited-set';

/** Visited sets in the API: counting filters with `set` semantics, each with a URL profile and a queue. */
@Injectable()
export class VisitedSetsService {
  constructor(private readonly filterLifecycle: FilterLifecycle) {}

  async create(
    dto: CreateVisitedSetDto,
    operation: Operation,
    caller: Principal,
  ): Promise<{ view: VisitedSetView; created: boolean }> {
    const {
      name,
      capacity,
      errorRate = DEFAULT_ERROR_RATE,
      growth = 'auto',
      urlProfile: profile = DEFAULT_URL_PROFILE,
      maxAttempts,
      maxAgeSeconds,
      perHost: asked,
    } = dto;
    const urlProfile = profileOf(profile);
    const perHost = asked === undefined ? undefined : perHostOf(asked);
    const described = await this.filterLifecycle.create(
      {
        name,
        kind: KIND,
        type: 'counting',
        semantics: 'set',
        capacity,
        errorRate,
        growth,
        urlProfile,
        ...(maxAttempts !== undefined && { maxAttempts }),
        ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
        ...(perHost && { perHost }),
      },
      operation,
      caller,
    );
    return { view: visitedSetView(described), created: described.created };
  }

  async get(name: string): Promise<VisitedSetView> {
    return visitedSetView(await this.filterLifecycle.get(name, KIND));
  }

  async list(query: ListQueryDto, caller: Principal): Promise<VisitedSetListView> {
    const { page, ...rest } = await this.filterLifecycle.list(KIND, query, caller);
    return { visitedSets: page.map(listedView), ...rest };
  }

  drop(name: string, operation: Operation): Promise<void> {
    return this.filterLifecycle.drop(name, KIND, operation);
  }

  async clear(name: string, operation: Operation): Promise<VisitedSetView> {
    return visitedSetView(await this.filterLifecycle.clear(name, KIND, operation));
  }
}

function listedView({ filter, stats }: Listed): VisitedSetView | LostVisitedSetView {
  return stats ? visitedSetView({ filter, stats }) : lostVisitedSetView(filter);
}

function profileOf(input: unknown): NormalisedUrlProfile {
  try {
    return normaliseProfile(input);
  } catch (error) {
    throw error instanceof InvalidUrlProfileError ? invalid('#/urlProfile', error.message) : error;
  }
}
