"""What the page of a MemFail run shows of each question: the way of each needed fact, stage by stage, to the answer."""
