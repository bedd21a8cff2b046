/* Versions of svc-registry (src/services/registry), from a proposal to an answered commit: clients,
 * the queue, the committer, the journal and the log on a disk that may refuse a sync, checkpoints,
 * a crash at any step, what a start makes of the files, and a stop.
 *
 * README.md says what stands for what and which runs are made (`check` makes them). Each client has
 * one proposal and asks until it hears what came of it. A step is what no crash can divide, or what
 * nobody can tell from it: a write, a sync, what becomes visible, the answers of a batch.
 *
 * Options: -DCLIENTS=n, -DQUEUE=n its places, -DIF_HEAD proposals may follow only the HEAD that
 * their client saw, -DCRASHES=n, -DFAILURES=n syncs and repairs that fail, -DCAPTURES=n attempts at
 * a checkpoint, -DWINDOW=n versions ahead of the checkpoint that a start looks at, -DHASTY clients
 * may ask for a commit before they approve, -DLATE=n jobs whose deadline has passed when it is
 * their turn, -DBATCH=n jobs taken at a time, -DSTOP the server stops at some moment. -DPLANT_…
 * puts in a fault.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef QUEUE
#define QUEUE CLIENTS
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef CAPTURES
#define CAPTURES 0
#endif
#ifndef WINDOW
#define WINDOW 0
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef BATCH
#define BATCH (QUEUE + 1) /* more than there can be */
#endif

#define VERSIONS (2 * CLIENTS + 2) /* room for what a fault writes */

/* What the journal says of a proposal, each a bit. Its order does not matter: an approval without
 * its proposal says nothing, and what is gone does not come back. */
#define proposed(p) (1 << (p))
#define approved(p) (1 << (CLIENTS + (p)))
#define gone(p) (1 << (2 * CLIENTS + (p)))
#define BITS (3 * CLIENTS)

mtype:job = { Propose, Approve, Commit, Capture };
mtype:reply = { None, Waiting, Done, Refused, NoQuorum, NotFound, Failed, TooLate, Busy, Lost };

/* The disk. What is written and not synced may be lost, or seen by the next start and lost then. */
byte log[VERSIONS]; /* by version: the proposal's number and 1 */
byte log_end, log_synced;
short journal, journal_synced;
byte checkpoint; /* its version; each is written whole or not at all */

/* The server's memory. */
chan jobs = [QUEUE] of { mtype:job, byte };
bool rung; /* the watch `intake` has a version the committer has not seen */
bool up;
byte head;                /* what readers see */
short pending;            /* and of proposals */
byte version_of[CLIENTS]; /* RecentCommits */
short unsaid;             /* Committer::gone_ */
bool log_broken, journal_broken;
byte captured; /* the checkpointer's: the state it was given */

/* The planner's, and the batch's. */
byte plan_head;
byte planned[VERSIONS];
short plan_pending;
short plan_journal;
mtype:reply owed[CLIENTS] = None;
mtype:job owed_to[CLIENTS] = Propose;
bool owes_capture;
byte taken; /* jobs, by the last look at the queue */

/* The clients'. */
byte if_head[CLIENTS];
mtype:reply reply[CLIENTS] = None;
byte reply_version[CLIENTS];
mtype:reply capture = None;
bool finished[CLIENTS];

/* What crashes, fails and stops. */
bool crashed, stop_listener, stop_committer, late;
byte crashes, failures, lates;

/* What was ever visible or acknowledged, and has to stay. */
byte truth[VERSIONS];
byte place[CLIENTS];
short acknowledged;
short asked; /* approvals that somebody gave */

/* Somebody sees proposal p at version v. */
inline see(v, p) {
  assert(truth[v] == 0 || truth[v] == p + 1); /* one entry at one version */
  assert(place[p] == 0 || place[p] == v); /* one version for a proposal */
  assert(asked & approved(p)); /* no version without quorum */
#ifdef IF_HEAD
  assert(if_head[p] == v - 1); /* the CAS on HEAD */
#endif
  truth[v] = p + 1;
  place[p] = v
}

/* Readers see it: HEAD is at v or behind it. */
inline read_head(v, p) {
  assert(v == 1 || truth[v - 1] != 0); /* no gap */
  see(v, p)
}

/* The reply to client c. */
inline tell(c, what) {
  assert(reply[c] == Waiting);
  if
  :: what == Done && owed_to[c] == Propose -> acknowledged = acknowledged | proposed(c)
  :: what == Done && owed_to[c] == Approve -> acknowledged = acknowledged | approved(c)
  :: what == Done && owed_to[c] == Commit -> reply_version[c] = version_of[c]; see(version_of[c], c)
  :: what == Refused && owed_to[c] == Commit -> assert(truth[if_head[c] + 1] != 0)
  :: what == NotFound -> assert(place[c] != 0 && place[c] + WINDOW <= checkpoint)
  :: else
  fi;
  reply[c] = what;
  owed[c] = None
}

inline tell_all_failed() {
  d_step {
    for (i : 0 .. CLIENTS - 1) {
      if
      :: owed[i] != None -> tell(i, Failed)
      :: else
      fi
    };
    if
    :: owes_capture -> capture = Failed; owes_capture = false
    :: else
    fi;
    i = 0
  }
}

/* Planner::propose, approve and commit: decided against the state as it will be. */
inline decide(what, p) {
  owed_to[p] = what;
  if
  :: what == Propose ->
    if
#ifdef IF_HEAD
    :: if_head[p] != plan_head -> owed[p] = Refused
#endif
    :: else ->
      plan_pending = plan_pending | proposed(p);
      plan_journal = plan_journal | proposed(p);
      owed[p] = Done
    fi
  :: what == Approve ->
    if
    :: !(plan_pending & proposed(p)) -> owed[p] = NotFound
    :: else ->
      plan_pending = plan_pending | approved(p);
      plan_journal = plan_journal | approved(p);
      owed[p] = Done;
#ifdef PLANT_APPROVED_EARLY
      tell(p, Done)
#endif
    fi
  :: what == Commit ->
    if
    :: version_of[p] != 0 -> owed[p] = Done
    :: version_of[p] == 0 && !(plan_pending & proposed(p)) -> owed[p] = NotFound
    :: version_of[p] == 0 && (plan_pending & proposed(p)) ->
      if
#ifdef IF_HEAD
#ifdef PLANT_STALE_CAS
      :: if_head[p] != head -> owed[p] = Refused
#elif defined(PLANT_REFUSED_EARLY)
      :: if_head[p] != plan_head -> tell(p, Refused)
#elif !defined(PLANT_NO_CAS)
      :: if_head[p] != plan_head -> owed[p] = Refused
#endif
#endif
#ifndef PLANT_NO_QUORUM
      :: !(plan_pending & approved(p)) -> owed[p] = NoQuorum
#endif
      :: else ->
        plan_head++;
        planned[plan_head] = p + 1;
        version_of[p] = plan_head;
        plan_pending = plan_pending & ~(proposed(p) | approved(p));
        owed[p] = Done
      fi
    fi
  fi
}

/* Committer::gather. Who comes too late is told at once. */
inline gather() {
  taken = 0;
  do
  :: taken < BATCH && nempty(jobs) ->
    jobs ? what, c;
    taken++;
    if
    :: what == Capture -> owes_capture = true
    :: what != Capture && lates < LATE -> lates++; tell(c, TooLate)
    :: what != Capture -> decide(what, c)
    fi
  :: taken == BATCH || empty(jobs) -> break
  od;
  what = Propose;
  c = 0
}

/* Committer::undo: back to what is durable. */
inline undo() {
  d_step {
    plan_head = head;
    plan_pending = pending;
    plan_journal = 0;
    for (i : 0 .. VERSIONS - 1) {
      planned[i] = 0
    };
    for (i : 0 .. CLIENTS - 1) {
      version_of[i] = (version_of[i] > head -> 0 : version_of[i])
    };
    i = 0
  }
}

/* FrameLog::append of the journal, with what is gone since the last time. */
inline append_journal(frames) {
  journal = journal | frames | unsaid;
  if
  :: d_step { true; journal_synced = journal; unsaid = 0 }
  :: d_step { failures < FAILURES -> failures++; journal_broken = true }
  fi
}

/* Views::publish of versions. */
inline publish() {
  d_step {
    do
    :: head < plan_head ->
      head++;
      read_head(head, planned[head] - 1);
      unsaid = unsaid | gone(planned[head] - 1);
      pending = pending & ~(proposed(planned[head] - 1) | approved(planned[head] - 1));
      planned[head] = 0
    :: else -> break
    od
  }
}

inline answer() {
  d_step {
    for (i : 0 .. CLIENTS - 1) {
      if
      :: owed[i] != None -> tell(i, owed[i])
      :: else
      fi
    };
    i = 0
  }
}

/* FrameLog::append of the log. */
inline append_log() {
  d_step {
    for (i : head + 1 .. plan_head) {
      log_end++;
      log[log_end] = planned[i]
    };
    i = 0
  };
#ifdef PLANT_PUBLISHED_EARLY
  publish();
#endif
#ifdef PLANT_ANSWERED_EARLY
  answer();
#endif
  if
  :: log_synced = log_end
  :: d_step { failures < FAILURES -> failures++; log_broken = true }
  fi
}

/* Committer::answer_captures: once the journal says of all that is committed that it is gone. */
inline answer_capture() {
#ifndef PLANT_GONE_NOT_FLUSHED
  if
  :: unsaid != 0 -> append_journal(0)
  :: else
  fi;
#endif
  d_step {
#ifdef PLANT_GONE_DROPPED
    unsaid = 0;
#endif
    captured = (journal_broken -> 0 : head);
    capture = (journal_broken -> Failed : Done);
    owes_capture = false
  }
}

/* Committer::commit. */
inline commit() {
  if
  :: plan_journal != 0 -> append_journal(plan_journal)
  :: else
  fi;
  if
  :: !journal_broken -> d_step { pending = pending | plan_journal; plan_journal = 0 }
  :: else
  fi;
  if
  :: !journal_broken && plan_head > head -> append_log()
  :: else
  fi;
  if
  :: journal_broken || log_broken ->
    undo();
#ifndef PLANT_NOBODY_TOLD
    tell_all_failed()
#endif
  :: else ->
    publish();
    answer();
    if
    :: owes_capture -> answer_capture()
    :: else
    fi
  fi
}

/* Committer::repair: the files end where they were synced, for ever. Until then all are told. */
inline repair() {
  if
  :: atomic {
#ifdef PLANT_NEVER_REPAIRED
      false ->
#else
      true ->
#endif
#ifndef PLANT_REPAIR_FORGOTTEN
      do
      :: log_end > log_synced -> log[log_end] = 0; log_end--
      :: else -> break
      od;
      journal = journal_synced;
#endif
      log_broken = false;
      journal_broken = false
    }
  :: d_step { failures < FAILURES -> failures++ }
#ifdef PLANT_NEVER_REPAIRED
  :: nempty(jobs)
#endif
  fi;
  if
  :: log_broken || journal_broken -> atomic { gather(); undo(); tell_all_failed() }
  :: else
  fi
}

/* Store::open. What is read and may not be on the medium is written once more and synced. Nobody
 * knows anything before it is over, so a crash within is one before the sync or one behind it. */
inline start() {
  d_step {
#ifndef PLANT_TAIL_NOT_SYNCED
    log_synced = log_end;
    journal_synced = journal;
#endif
    assert(checkpoint <= log_end);
    head = log_end;
    pending = journal & ((1 << (2 * CLIENTS)) - 1);
    for (i : 0 .. CLIENTS - 1) {
      if
      :: !(journal & proposed(i)) || (journal & gone(i)) ->
        pending = pending & ~(proposed(i) | approved(i))
      :: else
      fi
    };
    /* The entries behind the checkpoint, and a few before it. */
    for (i : 1 .. log_end) {
      if
      :: i + WINDOW > checkpoint ->
#ifndef PLANT_NOT_IDEMPOTENT
        version_of[log[i] - 1] = i;
#endif
#ifndef PLANT_GONE_FORGOTTEN
        /* The journal has to be told of those as well, before the next checkpoint. */
        if
        :: pending & proposed(log[i] - 1) -> unsaid = unsaid | gone(log[i] - 1)
        :: else
        fi;
#endif
        pending = pending & ~(proposed(log[i] - 1) | approved(log[i] - 1))
      :: else
      fi
    };
    plan_head = head;
    plan_pending = pending;
    /* What was seen or acknowledged is there; what is there is seen now. */
    for (i : 1 .. log_end) {
      read_head(i, log[i] - 1)
    };
    for (i : log_end + 1 .. VERSIONS - 1) {
      assert(truth[i] == 0)
    };
    for (i : 0 .. CLIENTS - 1) {
      assert(!(acknowledged & proposed(i)) || place[i] != 0 || (pending & proposed(i)));
      assert(!(acknowledged & approved(i)) || place[i] != 0 || (pending & approved(i)))
    };
    i = 0;
    up = true
  }
}

#define batch_is_empty (owed[0] == None && owed[CLIENTS - 1] == None && !owes_capture)

/* Committer::run. */
inline serve() {
  do
  :: log_broken || journal_broken -> repair()
  :: else ->
    atomic {
      rung = false; /* intake.see() */
      gather()
    };
    if
#ifdef PLANT_LATE_BATCH_SLEEPS
    :: batch_is_empty ->
#else
    :: taken == 0 ->
#endif
      if
      :: stop_committer -> break
      :: else
      fi;
      /* intake.changed(...) */
end_idle:
      rung || stop_committer
    :: else -> commit()
    fi
  od;
  if
  :: unsaid != 0 -> append_journal(0)
  :: else
  fi
}

proctype Server() {
  mtype:job what = Propose;
  byte c, i;
  bool served;
  do
  :: !served ->
    { start(); serve(); served = true } unless { d_step { crashed -> crashed = false } }
  :: served -> break
  od;
  /* The queue goes with the service: who is left in it is told. */
  atomic {
    up = false;
    do
    :: jobs ? what, c ->
      assert(late);
      if
      :: what == Capture -> capture = Lost
      :: else -> reply[c] = Lost
      fi
    :: empty(jobs) -> break
    od
  };
  assert(journal_broken || unsaid == 0)
}

/* The power goes, or only the process: of what is not synced, a part is on the medium, a part only
 * in the kernel's memory, where the next start sees it, and a part is lost. */
inline crash() {
  do
  :: log_end > log_synced -> log[log_end] = 0; log_end--
  :: true -> break
  od;
  do
  :: log_synced < log_end -> log_synced++
  :: true -> break
  od;
  for (i : 0 .. BITS - 1) {
    if
    :: (journal & ~journal_synced) & (1 << i) ->
      if
      :: journal = journal & ~(1 << i)
      :: journal_synced = journal_synced | (1 << i)
      :: true
      fi
    :: else
    fi
  };
  d_step {
    for (i : 0 .. CLIENTS - 1) {
      reply[i] = (reply[i] == Waiting -> Lost : reply[i]);
      owed[i] = None;
      owed_to[i] = Propose;
      version_of[i] = 0
    };
    for (i : 0 .. VERSIONS - 1) {
      planned[i] = 0
    };
    i = 0;
    do
    :: jobs ? _, _
    :: empty(jobs) -> break
    od;
    capture = (capture == Waiting -> Lost : capture);
    head = 0; pending = 0; unsaid = 0; captured = 0;
    plan_head = 0; plan_pending = 0; plan_journal = 0;
    log_broken = false; journal_broken = false; owes_capture = false;
    rung = false; taken = 0;
    up = false;
    crashed = true;
    crashes++
  }
}

proctype Power() {
  byte i;
  do
  :: atomic { up && crashes < CRASHES -> crash() }
  :: true -> break
  od
}

/* Proposes, approves and commits its proposal, and asks for the commit once more. */
proctype Client(byte me) {
  mtype:job what = Propose;
  byte version;
  bool has_seen_head;
#ifdef HASTY
  bool was_hasty;
#endif
  do
  :: atomic {
      stop_listener || finished[me] -> break
    }
  :: atomic {
      up && !stop_listener && !finished[me] ->
      if
      :: what == Propose && !has_seen_head -> if_head[me] = head; has_seen_head = true
      :: what == Approve -> asked = asked | approved(me)
      :: else
      fi;
      if
      :: nfull(jobs) -> jobs ! what, me; rung = true; reply[me] = Waiting
      :: full(jobs) -> reply[me] = Busy
      fi
    };
    reply[me] != Waiting;
    atomic {
      if
      :: reply[me] == Done && what == Propose ->
        what = Approve;
#ifdef HASTY
        if
        :: !was_hasty -> was_hasty = true; what = Commit
        :: true
        fi
#endif
      :: reply[me] == Done && what == Approve -> what = Commit
      :: reply[me] == Done && what == Commit ->
        assert(version == 0 || version == reply_version[me]);
        finished[me] = version != 0;
        version = reply_version[me]
      :: reply[me] == NoQuorum -> assert(!(acknowledged & approved(me))); what = Approve
      :: reply[me] == Refused -> assert(version == 0); finished[me] = true
      :: reply[me] == NotFound -> assert(what == Commit); finished[me] = true
      :: reply[me] == TooLate -> finished[me] = true
      :: else /* ask again */
      fi;
      reply[me] = None;
      reply_version[me] = 0
    }
  od
}

/* Takes a state from the committer and writes a checkpoint of it. */
proctype Checkpointer() {
  byte attempts;
  do
  :: atomic { attempts == CAPTURES || stop_listener -> break }
  :: atomic {
      up && !stop_listener && attempts < CAPTURES && nfull(jobs) ->
      attempts++;
      jobs ! Capture, 0;
      rung = true;
      capture = Waiting
    };
    capture != Waiting;
    d_step {
      checkpoint = (captured != 0 -> captured : checkpoint);
      captured = 0;
      capture = None
    }
  od
}

/* Those who ask, then the committer; the drain deadline may pass meanwhile. */
proctype Supervisor() {
  byte i;
#ifdef PLANT_COMMITTER_FIRST
  stop_committer = true;
#endif
  stop_listener = true;
  if
  :: true -> late = true
  :: capture != Waiting;
    for (i : 0 .. CLIENTS - 1) {
      reply[i] != Waiting
    }
  fi;
  stop_committer = true
}

init {
  atomic {
    byte i;
    run Server();
    for (i : 0 .. CLIENTS - 1) {
      run Client(i)
    };
#if CAPTURES > 0
    run Checkpointer();
#endif
#ifdef STOP
    run Supervisor();
#endif
    run Power()
  }
}

#define all_finished (finished[0] && finished[CLIENTS - 1])

/* Whoever keeps asking is committed in the end, or refused by a rule. */
ltl committed { <> all_finished }
