#pragma once

#include <string>

// What the simulation holds queue and coordinator to, by what rank 0 is told and says: all promises
// in one list. tests/simulation/planted.py breaks each of them.

namespace wallheat::promise {

// Who gets what.
inline constexpr auto longest_first = "the longest plan goes first";
inline constexpr auto half_share = "nobody has more than half of its share waiting";
inline constexpr auto long_plans = "long plans do not wait";
inline constexpr auto fed = "nobody is hungry while plans are open";
inline constexpr auto copies = "whoever is idle at the end gets copies";
inline constexpr auto two_copies = "a plan has two copies at most";
inline constexpr auto few_holders = "no more workers have a plan than it may cost";
inline constexpr auto no_risky_copies = "what has failed is not copied";
inline constexpr auto not_twice = "a plan is never given twice to one worker";
inline constexpr auto not_finished = "a finished plan is never handed out";
inline constexpr auto elsewhere = "what failed at one worker goes to another, also to one to come";
inline constexpr auto no_company = "a troubled plan has no company";
inline constexpr auto not_left = "who has left gets nothing";
inline constexpr auto not_stopped = "after a stop nobody gets plans";
inline constexpr auto not_late = "after the time limit nobody gets plans";
inline constexpr auto ends_in_time = "nothing is begun that would not end in time";

// What counts, exactly, whenever rank 0 has heard something.
inline constexpr auto first_answer = "the first answer counts, whoever it is from";
inline constexpr auto failures = "failures that may pass are tried --max-attempts times in all";
inline constexpr auto cannot_pass = "what cannot pass is tried once";
inline constexpr auto given_up = "what was at --max-attempts workers that fell silent has failed";
inline constexpr auto attempts = "attempts are counted over all sessions; copies are none";
inline constexpr auto starts = "each start is told once";
inline constexpr auto conflicts = "two answers that differ are told, with both workers";
inline constexpr auto repeats = "a second answer is told, and does not count";
inline constexpr auto predicted = "what is predicted is what was predicted before";
inline constexpr auto reports = "each report is told of who is here";
inline constexpr auto comings = "who is ready, back or gone is told so once";
inline constexpr auto open_is_open = "open is what nobody is at";
inline constexpr auto held_is_held = "held is what somebody is at";
inline constexpr auto memory = "answers are kept while others may come";

// Who lives.
inline constexpr auto alive = "who speaks is not given up";
inline constexpr auto silent = "who is silent, or never gets ready, is given up";
inline constexpr auto rank0_lives = "all are told that rank 0 lives";

// Ends.
inline constexpr auto ends = "every run ends";
inline constexpr auto each_finished = "each plan is answered or failed";
inline constexpr auto goes_on = "the run goes on while a worker lives, or may come";
inline constexpr auto source_away =
    "if nobody is left and the plans are away, they were the reason";
inline constexpr auto interrupted = "a worker that is asked to stop stops the run";
inline constexpr auto has_limit = "time runs out only if there is a limit";
inline constexpr auto time_used = "the time that is left is used";
inline constexpr auto awaits_all = "nothing fits only if nobody is to come";
inline constexpr auto stop_told = "all are told to stop, once";
inline constexpr auto stop_short = "a stop takes seconds";
inline constexpr auto stop_waits = "a stop waits for last words, and no longer";
inline constexpr auto abandoned =
    "what was begun and is not told of is abandoned, with its progress";

}  // namespace wallheat::promise

namespace wallheat {

struct Broken {
  std::string what;
};
inline void check(bool is_kept, const char* promise) {
  if (!is_kept) throw Broken{promise};
}

}  // namespace wallheat
