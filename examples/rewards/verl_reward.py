"""A reward function that verl loads: name this file in verl's configuration (see verl.yaml).

verl keeps the radiologist's report in a row's `reward_model.ground_truth` and what else is known of
the study in `extra_info`. It loads the file in each of its reward workers; the judge stays loaded
there, and the workers share the cache of answers.
"""

from judge.reward import Reward

# A judge of yours: "vllm:StanfordAIMI/GREEN-radllama2-7b" with base_url="http://HOST:8000/v1", or
# "gpt-6-luna". A completion that cannot be judged is an error that ends the training with the
# reward manager of verl.yaml (docs/python.md tells of the others); `unscored=` gives such a one a
# value instead, which the log says each time.
reward = Reward(rubric="green", judge="lexicon")
compute_score = reward.verl()
