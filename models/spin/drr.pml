/* The life of tickets in svc-gateway's FairQueue (src/services/gateway/fair_queue.cc), from asking
 * for a turn to its end: two tenants, `work`, the scheduler with a line and a deficit for each of
 * them, `sched`, workers of which one may die, and a stop with drain and abort.
 *
 * README.md says what stands for what and which runs are made (`check` makes them). One step here
 * is one atomic operation there: a channel's or a oneshot's method, which holds its mutex, or one
 * change of an atomic. The scheduler alone touches lines and deficits, so choosing is one step.
 *
 * Options: -DREQUESTS=n each client asks n times (else for ever), -DSTOP the server stops at some
 * moment, -DDEATHS=n workers that die, -DIMPATIENT the first greedy client may leave at any moment,
 * -DCUTS lines are shortened at any moment, -DCOARSE fewer and larger steps. -DPLANT_… puts in a
 * fault.
 */
#ifndef GREEDY
#define GREEDY 2 /* clients of the greedy tenant; the polite one has one */
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef SCHED
#define SCHED 1
#endif
#ifndef WORK
#define WORK 4
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef WORKERS
#define WORKERS 1
#endif

/* For properties of fairness steps are coarser: each process's way from one wait to the next. */
#ifdef COARSE
#define STEP atomic
#else
#define STEP
#endif

#define POLITE GREEDY
#define CLIENTS (GREEDY + 1)
#define TENANTS 2
#define tenant(t) (t == POLITE -> 1 : 0)
#define PLACES (WORK / TENANTS) /* of one tenant */
#define QUANTUM 2
#define cost(t) (t == POLITE -> 3 : 1) /* the polite tenant's are the dearer ones */

mtype:state = { Idle, Waiting, Using };
mtype:reply = { Pending, Granted, Dropped, TooMany };
mtype:end = { None, Served, Busy, Degraded, Draining, GaveUp };

/* What clients and queue share. A client has one ticket at a time, named by the client's number. */
mtype:state state[CLIENTS] = Idle;
mtype:reply reply[CLIENTS] = Pending; /* the oneshot, as its receiver sees it */
bool abandoned[CLIENTS];              /* the oneshot's receiver is gone */

chan work = [WORK] of { byte };
chan sched = [SCHED] of { byte };
byte slots = SLOTS; /* free ones */
byte waiting;       /* Lane::waiting */
byte queued[TENANTS];
bool rung;   /* the watch `demand` has a version the scheduler has not seen */
bool closed; /* work_ and closed_ */

/* The scheduler's own. */
chan line[TENANTS] = [CLIENTS] of { byte };
short deficit[TENANTS];
byte front;
bool has_turn;

/* The supervisor's. */
bool stop_workers, stop_scheduler, abort;
byte workers_gone;
bool scheduler_gone;
byte deaths;

inline ring() { rung = true }

/* A ticket ends once. */
inline finish(how) {
  assert(ended == None);
  ended = how
}

/* The sender of the oneshot sends or is dropped: at most once. Nobody hears it who has left. */
inline answer(t, what) {
  assert(reply[t] == Pending);
  reply[t] = (abandoned[t] -> reply[t] : what)
}

/* Turn::~Turn: FairQueue::ended(). The slot is free before anybody is looked for who waits. */
inline end_turn() {
#ifdef PLANT_RING_FIRST
  if
  :: waiting > 0 -> ring()
  :: else
  fi;
  slots++
#else
  slots++;
  assert(slots <= SLOTS);
  if
  :: waiting > 0 -> ring()
  :: else
  fi
#endif
}

/* A worker, or close(), hands the turn over. Handed back, it ends. */
inline deliver(t, handed_back) {
  d_step {
    handed_back = abandoned[t];
    answer(t, Granted)
  };
#ifndef PLANT_SLOT_LEAK
  if
  :: handed_back -> end_turn()
  :: else
  fi
#endif
}

/* A Grant is destroyed: its owner is told, then the turn ends. */
inline drop_grant(t) {
  answer(t, Dropped);
  end_turn()
}

/* take() up to where it waits. */
inline ask(t) {
  /* try_take() */
  d_step { nobody_waits = (waiting == 0); reply[t] = Pending };
  atomic {
    if
    :: nobody_waits && slots > 0 -> slots--; finish(Served); state[t] = Using
    :: else
    fi
  };
  if
  :: ended == Served
  :: else ->
    /* Place */
    d_step { state[t] = Waiting; queued[tenant(t)]++; waiting++ };
    atomic {
      if
      :: queued[tenant(t)] > PLACES -> finish(Busy)
      :: else ->
        if
        :: closed -> finish(Draining)
        :: !closed && full(work) -> finish(Busy)
        :: !closed && nfull(work) -> work ! t
        fi
      fi
    };
    if
    :: ended == None -> ring()
    :: else
    fi
  fi
}

/* Its wait for the reply. */
inline await_reply(t) {
  atomic {
    if
    :: reply[t] == Granted -> finish(Served)
    :: reply[t] == Dropped ->
      if
      :: closed -> finish(Draining)
      :: else -> finish(Degraded)
      fi
    :: reply[t] == TooMany -> finish(Busy)
#ifdef IMPATIENT
    :: t == 0 -> abandoned[t] = true; had_slot = (reply[t] == Granted); finish(GaveUp)
#endif
    fi
  };
  if
  :: had_slot -> end_turn()
  :: else
  fi
}

inline leave_place(t) {
  d_step {
    queued[tenant(t)]--;
    waiting--;
    state[t] = (ended == Served -> Using : Idle)
  }
}

/* One client: take(), then the use of the turn. */
proctype Client(byte t) {
  bool had_slot, nobody_waits;
  mtype:end ended = None; /* how the present ticket ended */
#ifdef REQUESTS
  byte asked;
#endif
  do
  ::
#ifdef REQUESTS
    if
    :: asked == REQUESTS -> break
    :: else -> asked++
    fi;
#endif
    STEP { ask(t) };
    if
    :: state[t] == Waiting && ended == None -> STEP { await_reply(t); leave_place(t) }
    :: state[t] == Waiting && ended != None -> leave_place(t)
    :: else
    fi;
    if
    :: ended == Served -> STEP { end_turn() }
    :: ended == GaveUp || ended == Draining -> break
    :: else
    fi;
    d_step { state[t] = Idle; ended = None; nobody_waits = false }
  od
}

/* DeficitRoundRobin::next(): into `t`. Somebody waits. */
inline choose(t) {
  d_step {
    do
    :: empty(line[front]) -> front = 1 - front; has_turn = false
    :: nempty(line[front]) ->
#ifdef PLANT_STARVE
      if
      :: nempty(line[0]) -> line[0] ? t
      :: empty(line[0]) -> line[1] ? t
      fi;
      break
#else
      if
      :: !has_turn -> has_turn = true; deficit[front] = deficit[front] + QUANTUM
      :: else
      fi;
      line[front] ? <t>;
      if
      :: cost(t) <= deficit[front] ->
        line[front] ? t;
        deficit[front] = deficit[front] - cost(t);
        if
        :: empty(line[front]) ->
          deficit[front] = (deficit[front] > 0 -> 0 : deficit[front]);
          front = 1 - front;
          has_turn = false
        :: nempty(line[front])
        fi;
        break
      :: else -> front = 1 - front; has_turn = false
      fi
#endif
    od
  }
}

/* DeficitRoundRobin::shorten(): the newest of a line that is longer than one. */
inline cut(which, t, moves) {
  d_step {
    moves = len(line[which]) - 1;
    do
    :: moves > 0 -> line[which] ? t; line[which] ! t; moves--
    :: else -> break
    od;
    line[which] ? t;
    answer(t, TooMany);
    t = 0
  }
}

/* What came into `work` joins its line. */
inline pull() {
  do
  :: atomic {
      work ? t;
      moved = true;
      if
      :: !abandoned[t] -> line[tenant(t)] ! t
      :: else
      fi;
      t = 0
    }
  :: empty(work) -> break
  od
}

/* What has a slot goes on to `sched`, whose oldest makes room. */
inline dispatch() {
  do
  :: (nempty(line[0]) || nempty(line[1])) && slots > 0 ->
    atomic {
      if
      :: slots > 0 -> slots--
      :: else -> break /* a client's try_take() was quicker */
      fi;
      moved = true;
      choose(t)
    };
    if
    :: abandoned[t] -> slots++
    :: else ->
      atomic {
        if
        :: full(sched) ->
          sched ? old;
          sched ! t;
#ifdef PLANT_SILENT_DROP
          end_turn();
#else
          drop_grant(old);
#endif
          old = 0
        :: nfull(sched) -> sched ! t
        fi
      }
    fi;
    t = 0
  :: (empty(line[0]) && empty(line[1])) || slots == 0 -> break
  od
}

proctype Scheduler() {
  byte t, old;
  byte moves;
  bool moved, handed_back;
  do
  :: stop_scheduler -> break
  :: else ->
    STEP {
#ifndef PLANT_SEEN_LATE
      rung = false; /* demand.see() */
#endif
      moved = false;
      pull();
#ifdef CUTS
      /* make_room(), at any moment */
      if
      :: len(line[0]) > 1 -> cut(0, t, moves)
      :: true
      fi;
#endif
      dispatch()
    };
    if
    :: moved
    :: else ->
#ifdef PLANT_SEEN_LATE
      rung = false;
#endif
      /* demand.changed(shutdown) */
end_idle:
      (rung || stop_scheduler)
    fi
  od;
  /* ~Closing: close(), whether it returns or is aborted */
  closed = true;
  do
  :: atomic { work ? t; answer(t, Dropped); t = 0 }
  :: empty(work) -> break
  od;
#ifndef PLANT_LINES_FORGOTTEN
  atomic {
    do
    :: line[0] ? t -> answer(t, Dropped)
    :: line[1] ? t -> answer(t, Dropped)
    :: empty(line[0]) && empty(line[1]) -> break
    od;
    t = 0
  };
#endif
  do
  :: sched ? t -> deliver(t, handed_back); d_step { t = 0; handed_back = false }
  :: empty(sched) -> break
  od;
  scheduler_gone = true
}

proctype Worker() {
  byte t;
  bool handed_back;
end_idle:
  do
  :: STEP {
      sched ? t;
      if
      :: deaths < DEATHS ->
        /* It throws with a grant in its hands; the supervisor starts it again. */
        deaths++;
#ifdef PLANT_ANSWERED_TWICE
        deliver(t, handed_back);
#endif
#ifndef PLANT_LOST_TICKET
        drop_grant(t)
#endif
      :: true -> deliver(t, handed_back)
      fi;
      d_step { t = 0; handed_back = false }
    }
  :: stop_workers && (empty(sched) || abort) -> break
  od;
  workers_gone++
}

/* Last started first: the workers, then the scheduler. The drain deadline may pass meanwhile. */
proctype Supervisor() {
  stop_workers = true;
  if
  :: workers_gone == WORKERS
  :: true -> abort = true; workers_gone == WORKERS
  fi;
  stop_scheduler = true;
  scheduler_gone;
  /* All that was accepted has been answered, and nothing is accepted any more. */
  assert(empty(work) && empty(line[0]) && empty(line[1]) && empty(sched))
}

init {
  atomic {
    byte i;
    for (i : 0 .. CLIENTS - 1) {
      run Client(i)
    };
    run Scheduler();
    for (i : 1 .. WORKERS) {
      run Worker()
    }
#ifdef STOP
    ;
    run Supervisor()
#endif
  }
}

#define waits (state[POLITE] == Waiting)
#define served (state[POLITE] == Using)

/* Whoever waits is told, one way or another. */
ltl answered { [] (waits -> <> !waits) }
/* A tenant gets its turns, however much another one asks for. */
ltl not_starved { [] (waits -> <> served) }
